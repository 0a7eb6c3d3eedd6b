// Any bytes given as a catalogue: refused with a place, or walked over a few facts.
#include <cstdint>
#include <string_view>

#include "stepslack/diagnose/tree.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stepslack;  // NOLINT(build/namespaces)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto catalogue = diagnose::ParseCatalogue(text, "causes.toml");
  if (!catalogue) {
    SS_CHECK(!catalogue.error().id.empty() && !catalogue.error().where.empty());
    return 0;
  }
  diagnose::Facts facts;
  facts["split.leaked_rows"] = {base::Exact(3, "1", 40, "rows", "counted"), "audit"};
  base::Estimate wait;
  wait.value = 0.1;
  wait.low = 0.0;
  wait.high = 0.2;
  facts["comm.wait_share"] = {wait, "comms profile"};
  const diagnose::Diagnosis diagnosis = diagnose::Diagnose(
      *catalogue, facts,
      {{.id = "leak", .metric = "leak", .title = "leak", .category = "leak"},
       {.id = "e", .metric = "e", .title = "efficiency", .category = "efficiency"}});
  SS_CHECK(diagnosis.causes.size() == catalogue->causes.size());
  SS_CHECK(diagnosis.primary.empty() == (diagnosis.layer == "undetermined"));
  SS_CHECK(!diagnose::ToJson(diagnosis).Dump(-1).empty());
  return 0;
}
