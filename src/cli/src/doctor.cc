#include "doctor.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "stepslack/base/context.h"
#include "stepslack/base/file.h"
#include "stepslack/base/process.h"

namespace stepslack::cli {
namespace {

constexpr uint64_t kGiB = 1ull << 30;
constexpr int64_t kWorkerStartLimitNs = 30'000'000'000;

// Starts `stepslack-worker --version`: shows that all its libraries are there.
DoctorCheck CheckWorker(const std::string& worker) {
  const int64_t start_ns = base::NowNs();
  auto process = base::Process::Start({.argv = {worker, "--version"}});
  if (!process) {
    return {"training worker", "FAIL", process.error().what,
            "build the target stepslack-worker (./run does)"};
  }
  while (!process->Poll() && base::NowNs() - start_ns < kWorkerStartLimitNs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto end = process->Poll();
  if (!end || end->signal != 0 || end->exit_code != 0) {
    return {"training worker", "FAIL", worker + " does not start",
            "run it with --version by hand; a library may be missing"};
  }
  const double seconds = static_cast<double>(base::NowNs() - start_ns) * 1e-9;
  return {"training worker", "OK", fmt::format("starts in {:.2f} s", seconds), ""};
}

DoctorCheck CheckBlas(const std::string& blas) {
  if (blas.find("openblas") != std::string::npos ||
      blas.find("mkl") != std::string::npos || blas.find("blis") != std::string::npos) {
    return {"BLAS", "OK", blas, ""};
  }
  return {"BLAS", "WARN", blas,
          "reference BLAS trains 2 to 8 times slower: install libopenblas0-pthread"};
}

// Nothing to say where the variable is not set: ranks then get the right one.
std::optional<DoctorCheck> CheckBlasCore() {
  const char* given = std::getenv("OPENBLAS_CORETYPE");
  const std::string best = base::OpenBlasCoreType();
  if (given == nullptr || best.empty() || best == given) return std::nullopt;
  return DoctorCheck{
      "BLAS kernels", "WARN", fmt::format("OPENBLAS_CORETYPE is {}", given),
      fmt::format("this CPU does more with {}: unset the variable", best)};
}

DoctorCheck CheckSpace(const std::string& path, uint64_t wanted) {
  const auto free = base::FreeBytes(path);
  if (!free) return {"space in " + path, "FAIL", free.error().what, free.error().help};
  const std::string found =
      fmt::format("{:.1f} GiB free", static_cast<double>(*free) / kGiB);
  if (*free >= wanted) return {"space in " + path, "OK", found, ""};
  return {"space in " + path, "WARN", found, "free some space before a review"};
}

}  // namespace

bool DoctorReport::Healthy() const {
  for (const DoctorCheck& check : checks) {
    if (check.state == "FAIL") return false;
  }
  return true;
}

DoctorReport Examine(const std::string& worker, const std::string& causes) {
  DoctorReport report;
  report.host = base::HostFacts();
  report.checks.push_back(CheckWorker(worker));
  report.checks.push_back(CheckBlas(report.host["blas"].AsString()));
  if (auto kernels = CheckBlasCore()) report.checks.push_back(std::move(*kernels));
  const int64_t cores = report.host["usable_cores"].AsInt();
  report.checks.push_back(
      cores >= 2
          ? DoctorCheck{"cores", "OK", fmt::format("{} usable", cores), ""}
          : DoctorCheck{"cores", "WARN", fmt::format("{} usable", cores),
                        "two ranks share one core: scaling can not be measured"});
  report.checks.push_back(CheckSpace(".", 2 * kGiB));
  report.checks.push_back(CheckSpace("/dev/shm", kGiB / 16));
  report.checks.push_back(
      base::PathExists(causes)
          ? DoctorCheck{"cause catalogue", "OK", causes, ""}
          : DoctorCheck{"cause catalogue", "FAIL", causes + " is not there",
                        "set STEPSLACK_CAUSES to the path of causes.toml"});
  return report;
}

std::string Describe(const DoctorReport& report, bool color) {
  std::string text;
  for (const DoctorCheck& check : report.checks) {
    const char* paint = check.state == "OK" ? "\033[32m" : "\033[33m";
    text += fmt::format("{}{:<5}{} {:<16} {}\n", color ? paint : "", check.state,
                        color ? "\033[0m" : "", check.name, check.found);
    if (!check.help.empty()) text += fmt::format("      help: {}\n", check.help);
  }
  return text;
}

base::Json ToJson(const DoctorReport& report) {
  base::Json checks{base::Json::Array{}};
  for (const DoctorCheck& check : report.checks) {
    base::Json row;
    row.Set("name", check.name);
    row.Set("state", check.state);
    row.Set("found", check.found);
    row.Set("help", check.help);
    checks.Append(std::move(row));
  }
  base::Json json;
  json.Set("schema", "stepslack.doctor/1");
  json.Set("healthy", report.Healthy());
  json.Set("checks", std::move(checks));
  json.Set("host", report.host);
  return json;
}

}  // namespace stepslack::cli
