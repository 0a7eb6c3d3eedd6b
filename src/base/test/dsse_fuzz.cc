// Any bytes either are no envelope or give one that is written and read back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stepslack/base/byte_text.h"
#include "stepslack/base/dsse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace base = stepslack::base;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = base::BytesOfBase64(text); bytes.has_value()) {
    SS_CHECK(base::BytesOfBase64(base::Base64Of(*bytes)) == bytes);
  }
  const auto json = base::ParseJson(text, "fuzz");
  if (!json.has_value()) return 0;
  const auto envelope = base::EnvelopeFromJson(*json);
  if (!envelope.has_value()) return 0;
  const auto again = base::EnvelopeFromJson(base::ToJson(*envelope));
  SS_CHECK(again.has_value() && again->payload == envelope->payload &&
           again->signatures.size() == envelope->signatures.size());
  SS_CHECK(base::CountSigners(*envelope, {}) == 0);
  return 0;
}
