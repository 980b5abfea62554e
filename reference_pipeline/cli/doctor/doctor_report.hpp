// The report of `precast doctor`: tables for people, JSON for machines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cli/doctor/recommendation.hpp>
#include <cli/terminal/output.hpp>

namespace precast::cli {

/// A model's whole examination.
struct DoctorReport {
  std::string model, prompt, device;
  std::uint64_t seed = 0;
  int width = 0, height = 0, steps = 0;
  std::span<const Examined> policies;
  std::optional<Recommendation> recommendation;
  std::vector<std::string> command;  ///< makes the picture with the recommended policies
  std::string header;                ///< the C++ file with those policies; "" if none was written
  std::vector<std::string> warnings;
};

std::string doctor_text(const DoctorReport& report);
Json doctor_json(const DoctorReport& report);

}  // namespace precast::cli
