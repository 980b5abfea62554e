#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include <cxxabi.h>
#include <simt/errors.hpp>
#include <simt/proof.hpp>

namespace simt {

namespace {

constexpr Copies both[] = {Copies::late, Copies::early};
const char* name_of(Copies copies) { return copies == Copies::late ? "late" : "early"; }

std::string name_of_type(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  const std::string text = name ? name.get() : type.name();
  return text.substr(text.rfind(':') + 1);
}

struct Failure {
  std::string what, details;
};

/// Runs the test once; nothing when it passes.
std::optional<Failure> failure_of(const std::function<bool()>& test) {
  try {
    if (test()) return std::nullopt;
    return Failure{"wrong result", "wrong result"};
  } catch (const std::exception& error) {
    return Failure{name_of_type(typeid(error)), error.what()};
  }
}

/// Every session's sites and faults, once each.
struct Seen {
  std::vector<KernelSite> sites;
  std::vector<KernelFault> faults;

  void add(const Session& session) {
    for (const auto& site : session.sites())
      if (std::find(sites.begin(), sites.end(), site) == sites.end()) sites.push_back(site);
    for (const auto& fault : session.faults())
      if (std::find(faults.begin(), faults.end(), fault) == faults.end()) faults.push_back(fault);
  }
};

bool is_fence(Kind kind) { return kind == Kind::fence_block || kind == Kind::fence_device; }
bool copies(Kind kind) {
  return kind == Kind::cp_async_commit || kind == Kind::cp_async_wait || kind == Kind::wait_parity ||
         kind == Kind::wgmma_wait;
}

const char* file_of(const Site& site) {
  const char* slash = std::strrchr(site.file, '/');
  return slash ? slash + 1 : site.file;
}
auto order_of(const KernelSite& s) {
  return std::tuple(s.kernel, std::string(file_of(s.site)), s.site.line, s.site.number, s.kind);
}

/// Without template arguments and parameters, which compilers spell in ways of their own.
std::string_view function_of(const Site& site) {
  const std::string_view name = site.function, call = "operator()";
  return name.substr(0, name.find_first_of("<(", name.starts_with(call) ? call.size() : 0));
}

/// "sync_block 2 in layer_norm (norm.hpp)": a number, for a line would be wrong after every edit above it.
std::string label_of(const KernelSite& site, const std::vector<KernelSite>& sorted) {
  int number = 0, count = 0;
  for (const auto& other : sorted) {
    if (other.kernel != site.kernel || other.kind != site.kind ||
        function_of(other.site) != function_of(site.site) ||
        std::strcmp(file_of(other.site), file_of(site.site)) != 0)
      continue;
    ++count;
    if (other == site) number = count;
  }
  std::string label = name_of(site.kind);
  if (count > 1) label.append(" ").append(std::to_string(number));
  return label.append(" in ").append(function_of(site.site)) + " (" + file_of(site.site) + ")";
}

/// By which run, if any, a change is found.
std::string found_by(const std::function<bool()>& test, Options options, int seeds, bool tells_copies) {
  for (int seed = 1; seed <= seeds; ++seed)
    for (const Copies landing : both) {
      options.seed = static_cast<std::uint64_t>(seed);
      options.copies = landing;
      const Session session(options);
      if (const auto failure = failure_of(test))
        return failure->what + (tells_copies ? std::string(", copies ") + name_of(landing) : "");
    }
  return "";
}

}  // namespace

std::vector<std::string> Proof::missed() const {
  std::vector<std::string> names;
  for (const Verdict& verdict : verdicts)
    if (verdict.found_by.empty()) names.push_back(verdict.kernel + ": " + verdict.change);
  return names;
}

Proof prove(const std::function<bool()>& test, const Effort& effort) {
  Proof proof;
  Seen seen;
  for (int seed = 1; seed <= effort.clean_seeds; ++seed)
    for (const Copies landing : both) {
      const Session session({.seed = static_cast<std::uint64_t>(seed), .copies = landing});
      const auto failure = failure_of(test);
      ++proof.clean_runs;
      seen.add(session);
      if (session.launches().empty()) proof.alarms.push_back("the test launches no kernel");
      if (failure)
        proof.alarms.push_back("seed " + std::to_string(seed) + ", copies " + name_of(landing) + ": " +
                               failure->details);
    }
  if (watched_for_races()) return proof;
  if (!proof.alarms.empty()) return proof;  // nothing can be learnt from changes to what is wrong already
  std::sort(seen.sites.begin(), seen.sites.end(),
            [](const KernelSite& a, const KernelSite& b) { return order_of(a) < order_of(b); });
  std::sort(seen.faults.begin(), seen.faults.end(), [](const KernelFault& a, const KernelFault& b) {
    return std::tie(a.kernel, a.name) < std::tie(b.kernel, b.name);
  });
  const auto has_copies = [&](const std::string& kernel) {
    return std::any_of(seen.sites.begin(), seen.sites.end(),
                       [&](const KernelSite& s) { return s.kernel == kernel && copies(s.kind); });
  };
  for (const KernelSite& site : seen.sites) {
    const std::string change = "no " + label_of(site, seen.sites);
    if (is_fence(site.kind)) {
      proof.verdicts.push_back({site.kernel, change, "not modelled"});
      continue;
    }
    Options options;
    options.silenced = site;
    proof.verdicts.push_back(
        {site.kernel, change, found_by(test, options, effort.seeds_a_change, has_copies(site.kernel))});
  }
  for (const KernelFault& fault : seen.faults) {
    Options options;
    options.planted = fault;
    proof.verdicts.push_back(
        {fault.kernel, "fault: " + fault.name, found_by(test, options, effort.seeds_a_change, false)});
  }
  return proof;
}

std::string table_of(const Proof& proof) {
  std::string table = "| kernel | change | found by |\n|---|---|---|\n";
  for (const Verdict& verdict : proof.verdicts)
    table += "| " + verdict.kernel + " | " + verdict.change + " | " +
             (verdict.found_by.empty() ? "**nothing**" : verdict.found_by) + " |\n";
  return table;
}

std::string difference_from_document(const Proof& proof, const std::string& name,
                                     const std::filesystem::path& document) {
  std::ostringstream text;
  if (std::ifstream file(document); file) text << file.rdbuf();
  std::string content = text.str();
  const std::string begin = "<!-- verdicts: " + name + " -->\n", end = "<!-- end of verdicts -->\n";
  const std::size_t begins = content.find(begin);
  const std::size_t from = begins == std::string::npos ? begins : begins + begin.size();
  const std::size_t to = begins == std::string::npos ? begins : content.find(end, from);
  const std::string table = table_of(proof);
  if (watched_for_races()) return "";
  if (to != std::string::npos && content.compare(from, to - from, table) == 0) return "";
  const char* update = std::getenv("PRECAST_UPDATE_DOCS");
  if (!update || std::strcmp(update, "1") != 0)
    return document.string() + ": the table \"" + name +
           "\" is not what this run found; run the test again with PRECAST_UPDATE_DOCS=1, which writes:\n" +
           table;
  if (to == std::string::npos)
    content += "\n### " + name + "\n\n" + begin + table + end;
  else
    content.replace(from, to - from, table);
  std::ofstream file(document, std::ios::trunc);
  if (!(file << content << std::flush)) return document.string() + ": could not be written";
  return "";
}

}  // namespace simt
