// `nvidia-smi -q`: sections by indentation, one block for each GPU. Names of the fields
// are those of the drivers 418 to 570; a field that is not there is not judged.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host_evidence.h"
#include "pci_address.h"
#include "stepslack/base/text.h"
#include "stepslack/trace/host_log.h"

namespace stepslack::trace {
namespace {

constexpr size_t kIndent = 4;
constexpr size_t kDeepest = 12;
constexpr size_t kMostFields = 4000;  // of one GPU; the longest have 300
constexpr double kBusyPercent = 10;

struct Field {
  std::string_view value;
  EvidenceLine line;
};

class SmiReader {
 public:
  explicit SmiReader(HostReport& report) : report_(report), collector_(report) {}
  void Run(std::string_view text);

 private:
  void ReadField(const EvidenceLine& line);
  void EndGpu();
  const Field* Find(std::initializer_list<std::string_view> paths) const;
  double Number(std::initializer_list<std::string_view> paths) const;  // -1: not there
  bool Is(std::initializer_list<std::string_view> paths, std::string_view value) const;
  HostEvidence& Add(const EvidenceKind& kind, const Field& field);
  void Measure();
  void JudgeClocks();
  void JudgeMemory();
  void JudgeRows();
  void JudgeLink();
  void JudgeHeat();
  void JudgeState();

  HostReport& report_;
  EvidenceCollector collector_;
  bool in_gpu_ = false;
  int gpus_ = 0;
  std::string subject_;
  EvidenceLine heading_;
  std::vector<std::string_view> path_;
  std::map<std::string, Field, std::less<>> fields_;
  std::map<std::string, double, std::less<>> measured_;
  bool busy_ = false;
};

bool IsGpuHeading(std::string_view line) {
  return line.starts_with("GPU ") && line.size() >= 14 &&
         line.find_first_not_of("0123456789abcdefABCDEF:.", 4) ==
             std::string_view::npos &&
         line.find(':') != std::string_view::npos;
}

// Healthy GPUs say "Unknown Error" where a feature is not there ("Addressing Mode");
// what the GPU measures it must be able to tell.
bool IsUnreadable(std::string_view path, std::string_view value) {
  if (value == "GPU requires reset" || value == "[GPU requires reset]") return true;
  if (value != "Unknown Error" && value != "[Unknown Error]" && value != "ERR!") {
    return false;
  }
  constexpr std::array<std::string_view, 9> kMeasured = {
      "Temperature/", "GPU Power Readings/", "Power Readings/",
      "Clocks/",      "Utilization/",        "ECC Errors/",
      "Fan Speed",    "FB Memory Usage/",    "Remapped Rows/"};
  return std::ranges::any_of(kMeasured, [path](std::string_view measured) {
    return path.starts_with(measured);
  });
}

void SmiReader::Run(std::string_view text) {
  LineReader reader(text);
  std::string_view line;
  while (reader.Next(line)) {
    const EvidenceLine here{reader.number(), line};
    if (IsGpuHeading(line)) {
      EndGpu();
      in_gpu_ = true;
      heading_ = here;
      subject_ = "gpu " + PciAddress(line.substr(4));
    } else if (line.starts_with("Unable to determine the device handle for GPU")) {
      const std::string_view rest = base::Trim(line.substr(45));
      collector_.Add({.kind = "gpu_lost",
                      .severity = Severity::kError,
                      .layer = "hardware",
                      .cause = "H10",
                      .meaning = "The GPU does not answer; a reboot brings it back or "
                                 "shows that it is broken"},
                     "gpu " + PciAddress(rest.substr(0, rest.find_first_of(" :.", 10))),
                     here);
    } else if (in_gpu_) {
      ReadField(here);
    }
  }
  report_.lines = reader.number();
  EndGpu();
}

void SmiReader::ReadField(const EvidenceLine& line) {
  const size_t indent = line.text.find_first_not_of(' ');
  if (indent == std::string_view::npos) return;
  if (indent < kIndent) {  // the head of the next snapshot
    EndGpu();
    return;
  }
  const size_t level = indent / kIndent - 1;
  std::string_view name = base::Trim(line.text);
  std::string_view value;
  SplitField(line.text, name, value);
  if (level > path_.size() || level >= kDeepest || fields_.size() >= kMostFields) {
    report_.stats.Add("line of unexpected form", Severity::kWarning, line.number);
    return;
  }
  path_.resize(level);
  path_.push_back(name);
  fields_.emplace(fmt::format("{}", fmt::join(path_, "/")), Field{value, line});
}

const Field* SmiReader::Find(std::initializer_list<std::string_view> paths) const {
  for (const std::string_view path : paths) {
    const auto found = fields_.find(path);
    if (found != fields_.end()) return &found->second;
  }
  return nullptr;
}

double SmiReader::Number(std::initializer_list<std::string_view> paths) const {
  const Field* field = Find(paths);
  return field == nullptr ? -1 : LeadingNumber(field->value, -1);
}

bool SmiReader::Is(std::initializer_list<std::string_view> paths,
                   std::string_view value) const {
  const Field* field = Find(paths);
  return field != nullptr && field->value == value;
}

HostEvidence& SmiReader::Add(const EvidenceKind& kind, const Field& field) {
  HostEvidence& record = collector_.Add(kind, subject_, field.line);
  record.values = measured_;
  return record;
}

void SmiReader::EndGpu() {
  if (!in_gpu_) return;
  Measure();
  JudgeState();
  JudgeClocks();
  JudgeMemory();
  JudgeRows();
  JudgeLink();
  JudgeHeat();
  in_gpu_ = false;
  ++gpus_;
  path_.clear();
  fields_.clear();
}

void SmiReader::Measure() {
  measured_ = {{"gpu_index", gpus_}};
  const auto take = [this](const char* name,
                           std::initializer_list<std::string_view> paths) {
    const Field* field = Find(paths);
    if (field == nullptr || field->value.empty()) return;
    const bool number = field->value.find_first_of("0123456789") <= 1;
    if (number) measured_[name] = LeadingNumber(field->value, 0);
  };
  take("temperature_c", {"Temperature/GPU Current Temp"});
  take("memory_temperature_c", {"Temperature/Memory Current Temp"});
  take("power_w", {"GPU Power Readings/Power Draw", "Power Readings/Power Draw",
                   "GPU Power Readings/Instantaneous Power Draw"});
  take("power_limit_w",
       {"GPU Power Readings/Current Power Limit", "Power Readings/Power Limit"});
  take("sm_clock_mhz", {"Clocks/SM"});
  take("sm_clock_max_mhz", {"Max Clocks/SM"});
  take("utilization_percent", {"Utilization/Gpu", "Utilization/GPU"});
  take("pcie_generation", {"PCI/GPU Link Info/PCIe Generation/Current"});
  take("pcie_width", {"PCI/GPU Link Info/Link Width/Current"});
  take("pcie_replays", {"PCI/Replays Since Reset"});
  const double clock = Number({"Clocks/SM"});
  const bool fast = clock > 0 && 2 * clock >= Number({"Max Clocks/SM"});
  const bool awake = Is({"Performance State"}, "P0") ||
                     Is({"Performance State"}, "P1") || Is({"Performance State"}, "P2");
  const bool idle =
      Is({"Clocks Event Reasons/Idle", "Clocks Throttle Reasons/Idle"}, "Active");
  busy_ = Number({"Utilization/Gpu", "Utilization/GPU"}) >= kBusyPercent ||
          (awake && fast && !idle);
  Field heading{"", heading_};
  Add({.kind = "gpu_state",
       .layer = "hardware",
       .meaning = "Temperature, power, clocks and link when the text was written"},
      heading);
}

void SmiReader::JudgeState() {
  for (const auto& [path, field] : fields_) {
    if (!IsUnreadable(path, field.value)) continue;
    Add({.kind = "gpu_unreadable",
         .severity = Severity::kError,
         .layer = "hardware",
         .cause = "H03",
         .meaning =
             "The driver can not read a value from the GPU; reset or replace it"},
        field);
    break;
  }
  if (Is({"GPU Reset Status/Reset Required"}, "Yes")) {
    Add({.kind = "gpu_reset_required",
         .severity = Severity::kError,
         .layer = "hardware",
         .cause = "H03",
         .meaning = "The GPU must be reset before it is used again"},
        *Find({"GPU Reset Status/Reset Required"}));
  }
  if (Is({"GPU Reset Status/Drain and Reset Recommended"}, "Yes")) {
    Add({.kind = "gpu_reset_recommended",
         .severity = Severity::kWarning,
         .layer = "hardware",
         .cause = "H03",
         .meaning = "The GPU should be reset when its programs have ended"},
        *Find({"GPU Reset Status/Drain and Reset Recommended"}));
  }
  const Field* status = Find({"Fabric/Status"});
  if (status != nullptr && !status->value.empty() && status->value != "N/A" &&
      status->value != "Success") {
    Add({.kind = "fabric_not_ready",
         .code = status->value,
         .severity = Severity::kError,
         .layer = "hardware",
         .cause = "H09",
         .meaning = "The GPU is not part of the NVLink fabric of its host"},
        *status);
  }
}

void SmiReader::JudgeClocks() {
  struct Reason {
    std::string_view path;
    std::string_view code;
    Severity severity;
    std::string_view meaning;
  };
  constexpr auto kReasons = std::to_array<Reason>({
      {"HW Slowdown/HW Thermal Slowdown", "hw_thermal_slowdown", Severity::kError,
       "The GPU halves its clock or more because it is too hot"},
      {"HW Slowdown/HW Power Brake Slowdown", "hw_power_brake_slowdown",
       Severity::kError,
       "The host's power supply told the GPU to brake: power budget, supply or cable"},
      {"SW Thermal Slowdown", "sw_thermal_slowdown", Severity::kWarning,
       "The driver lowers the clock to keep the temperature"},
      {"SW Power Cap", "sw_power_cap", Severity::kWarning,
       "The driver lowers the clock to keep the power limit"},
  });
  for (const std::string_view section :
       {"Clocks Event Reasons", "Clocks Throttle Reasons"}) {
    bool explained = false;
    for (const Reason& reason : kReasons) {
      const std::string path = fmt::format("{}/{}", section, reason.path);
      if (!Is({path}, "Active")) continue;
      explained = explained || reason.severity == Severity::kError;
      // A limit of the software that holds back nothing is no finding.
      const bool matters = reason.severity == Severity::kError || busy_;
      Add({.kind = "gpu_throttled",
           .code = reason.code,
           .severity = matters ? reason.severity : Severity::kInfo,
           .layer = "hardware",
           .cause = "H02",
           .meaning = reason.meaning},
          *Find({path}));
    }
    const std::string slowdown = fmt::format("{}/HW Slowdown", section);
    if (explained || !Is({slowdown}, "Active")) continue;
    Add({.kind = "gpu_throttled",
         .code = "hw_slowdown",
         .severity = Severity::kError,
         .layer = "hardware",
         .cause = "H02",
         .meaning = "The hardware lowers the clock, for heat or for power"},
        *Find({slowdown}));
  }
}

void SmiReader::JudgeMemory() {
  double recent = 0;
  double ever = 0;
  const Field* recent_field = nullptr;
  const Field* ever_field = nullptr;
  for (const auto& [path, field] : fields_) {
    if (!path.starts_with("ECC Errors/")) continue;
    const bool uncorrected = path.find("Uncorrectable") != std::string::npos ||
                             path.ends_with("/Double Bit/Total");
    const double count = LeadingNumber(field.value, 0);
    if (!uncorrected || count <= 0 || path.find(" Sources/") != std::string::npos) {
      continue;
    }
    const bool is_recent = path.starts_with("ECC Errors/Volatile");
    (is_recent ? recent : ever) += count;
    (is_recent ? recent_field : ever_field) = &field;
  }
  if (recent_field != nullptr) {
    Add({.kind = "gpu_memory_error",
         .code = "uncorrected",
         .severity = Severity::kError,
         .layer = "hardware",
         .cause = "H03",
         .meaning =
             "Memory errors since the driver was loaded that were not corrected"},
        *recent_field)
        .values["uncorrected_errors"] = recent;
  } else if (ever_field != nullptr) {
    Add({.kind = "gpu_memory_error",
         .code = "history",
         .layer = "hardware",
         .cause = "H03",
         .meaning =
             "Memory errors in the GPU's life, none since the driver was loaded"},
        *ever_field)
        .values["uncorrected_errors"] = ever;
  }
  const auto threshold = {
      std::string_view("ECC Errors/Aggregate/SRAM Threshold Exceeded")};
  if (Is(threshold, "Yes")) {
    Add({.kind = "gpu_memory_error",
         .code = "sram_threshold",
         .severity = Severity::kError,
         .layer = "hardware",
         .cause = "H03",
         .meaning = "So many on-chip memory errors that the GPU should be replaced"},
        *Find(threshold));
  }
}

void SmiReader::JudgeRows() {
  struct Check {
    std::string_view path;
    std::string_view code;
    Severity severity;
    std::string_view meaning;
  };
  constexpr auto kChecks = std::to_array<Check>({
      {"Remapped Rows/Remapping Failure Occurred", "remap_failed", Severity::kError,
       "A bad memory row could not be replaced; the GPU should be replaced"},
      {"Remapped Rows/Pending", "remap_pending", Severity::kWarning,
       "A bad memory row will be replaced at the next reset; reset soon"},
      {"Remapped Rows/Uncorrectable Error", "rows_remapped", Severity::kInfo,
       "Bad memory rows were replaced"},
      {"Retired Pages/Pending Page Blacklist", "retire_pending", Severity::kWarning,
       "A bad memory page will be retired at the next reset; reset soon"},
      {"Retired Pages/Pending", "retire_pending", Severity::kWarning,
       "A bad memory page will be retired at the next reset; reset soon"},
      {"Retired Pages/Double Bit ECC", "pages_retired", Severity::kWarning,
       "Memory pages were retired after errors that were not corrected"},
  });
  for (const Check& check : kChecks) {
    const Field* field = Find({check.path});
    if (field == nullptr) continue;
    const double count = LeadingNumber(field->value, 0);
    if (field->value != "Yes" && count <= 0) continue;
    HostEvidence& record = Add({.kind = "gpu_memory_rows",
                                .code = check.code,
                                .severity = check.severity,
                                .layer = "hardware",
                                .cause = "H03",
                                .meaning = check.meaning},
                               *field);
    if (count > 0) record.values["rows"] = count;
  }
}

void SmiReader::JudgeLink() {
  const Field* generation = Find({"PCI/GPU Link Info/PCIe Generation/Current"});
  double most = -1;
  for (const std::string_view end : {"Max", "Device Max", "Host Max"}) {
    const double value =
        Number({fmt::format("PCI/GPU Link Info/PCIe Generation/{}", end)});
    if (value > 0) most = most < 0 ? value : std::min(most, value);
  }
  const double current =
      generation == nullptr ? -1 : LeadingNumber(generation->value, -1);
  if (busy_ && current > 0 && current < most) {
    Add({.kind = "pcie_slow",
         .code = "generation",
         .severity = Severity::kWarning,
         .layer = "hardware",
         .cause = "H09",
         .meaning = "A busy GPU runs its PCIe link below what GPU and slot can do"},
        *generation)
        .values["pcie_generation_max"] = most;
  }
  const Field* width = Find({"PCI/GPU Link Info/Link Width/Current"});
  const double widest = Number({"PCI/GPU Link Info/Link Width/Max"});
  const double wide = width == nullptr ? -1 : LeadingNumber(width->value, -1);
  if (wide > 0 && wide < widest) {
    Add({.kind = "pcie_slow",
         .code = "width",
         .severity = busy_ ? Severity::kWarning : Severity::kInfo,
         .layer = "hardware",
         .cause = "H09",
         .meaning = busy_ ? "A busy GPU uses only some lanes of its PCIe link"
                          : "Fewer PCIe lanes than possible, on a GPU without work; "
                            "look again under load"},
        *width)
        .values["pcie_width_max"] = widest;
  }
}

void SmiReader::JudgeHeat() {
  const Field* margin = Find({"Temperature/GPU T.Limit Temp"});
  const Field* now = Find({"Temperature/GPU Current Temp"});
  const double limit = Number({"Temperature/GPU Slowdown Temp"});
  const bool no_margin = margin != nullptr && !margin->value.empty() &&
                         LeadingNumber(margin->value, 1) <= 0;
  const bool above =
      now != nullptr && limit > 0 && LeadingNumber(now->value, 0) >= limit;
  if (!no_margin && !above) return;
  Add({.kind = "gpu_hot",
       .severity = Severity::kWarning,
       .layer = "hardware",
       .cause = "H02",
       .meaning = "The GPU is at the temperature where it lowers its clock"},
      no_margin ? *margin : *now);
}

}  // namespace

bool LooksLikeNvidiaSmi(std::string_view text) {
  LineReader reader(text);
  std::string_view line;
  bool heading = false;
  while (reader.number() < 40 && reader.Next(line)) {
    heading = heading || (line.starts_with("====") &&
                          line.find("NVSMI LOG") != std::string_view::npos);
    if (heading && (IsGpuHeading(line) || line.starts_with("Attached GPUs"))) {
      return true;
    }
    if (line.starts_with("Unable to determine the device handle for GPU")) return true;
  }
  return false;
}

HostReport ParseNvidiaSmi(std::string_view text) {
  HostReport report;
  report.kind = HostLogKind::kNvidiaSmi;
  SmiReader(report).Run(text);
  return report;
}

}  // namespace stepslack::trace
