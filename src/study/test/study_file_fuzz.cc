#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/study/study_file.h"
#include "stepslack/study/study_run.h"

// Any bytes give a study with at least one arm, or an error with an id and a line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto study = stepslack::study::ParseStudyFile(text, "fuzz.toml");
  if (!study.has_value()) {
    SS_CHECK(study.error().id.starts_with("CONF-"));
    return 0;
  }
  SS_CHECK(!study->arms.empty() && !study->seeds.empty());
  return 0;
}
