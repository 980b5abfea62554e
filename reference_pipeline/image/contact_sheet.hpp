// A contact sheet: pictures side by side with captions below them, to be compared at a glance.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <image/image.hpp>

namespace precast::image {

/// A picture and the lines below it, the first of which is its name.
struct SheetCell {
  Image image;
  std::vector<std::string> captions;
};

/// A sheet's size in pixels.
struct SheetSize {
  int width = 0, height = 0;
};

/// The size that contact_sheet gives a sheet of pictures of one size under these captions, a list of lines
/// each. Throws InputError as it does.
SheetSize contact_sheet_size(const std::string& title, int width, int height,
                             std::span<const std::vector<std::string>> captions, int columns = 0);

/// Draws the pictures in a grid, row by row, under a title. Small pictures are enlarged by whole factors,
/// without smoothing; text grows with the pictures, is broken into lines to fit, and shows what is not ASCII
/// as question marks. `columns` 0 chooses: one row up to four pictures, else about as many columns as rows.
/// Throws ShapeError for pictures that are none (check_pixels) and InputError where there is no picture, or
/// the sheet would be larger than max_side.
Image contact_sheet(const std::string& title, std::span<const SheetCell> cells, int columns = 0);

}  // namespace precast::image
