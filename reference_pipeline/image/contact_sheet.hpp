// A contact sheet: pictures side by side with captions below them, for comparison.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <image/image.hpp>

namespace precast::image {

/// A picture and its caption lines, the first of which is its name.
struct SheetCell {
  Image image;
  std::vector<std::string> captions;
};

/// A sheet's size in pixels.
struct SheetSize {
  int width = 0, height = 0;
};

/// The size of contact_sheet's result for pictures of one size with these captions, a list of lines each.
/// Throws InputError as contact_sheet does.
SheetSize contact_sheet_size(const std::string& title, int width, int height,
                             std::span<const std::vector<std::string>> captions, int columns = 0);

/// Draws the pictures in a grid, row by row, under a title. Small pictures are enlarged by an integer
/// factor without smoothing; text grows with the pictures, is wrapped to fit, and shows non-ASCII
/// characters as question marks. `columns` 0 is automatic: one row up to four pictures, else about as many
/// columns as rows. Throws ShapeError for invalid pictures (check_pixels), and InputError if there is no
/// picture or the sheet would exceed max_side.
Image contact_sheet(const std::string& title, std::span<const SheetCell> cells, int columns = 0);

}  // namespace precast::image
