#include "stepslack/logs/tfevents.h"

#include <bit>
#include <cmath>
#include <optional>

#include "crc32c.h"
#include "series_builder.h"
#include "stepslack/trace/exact_time.h"
#include "stepslack/trace/protobuf_wire.h"

namespace stepslack::logs {
namespace {

using trace::Severity;
using trace::WireField;
using trace::WireReader;
using Type = WireField::Type;

constexpr size_t kHeader = 12;  // length and its checksum
constexpr size_t kFooter = 4;

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

bool LengthIsSound(std::string_view header) {
  return MaskedCrc32c(header.substr(0, 8)) == LittleEndian(header.substr(8, 4));
}

double FloatOf(uint64_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

double DoubleOf(uint64_t bits) { return std::bit_cast<double>(bits); }

// Nearest ns of a double of seconds; none outside of the range of times.
std::optional<int64_t> NsOf(double seconds) {
  const double ns = seconds * 1e9;
  if (!(std::abs(ns) < static_cast<double>(trace::kTimeLimitNs))) return std::nullopt;
  return std::llround(ns);
}

// TensorProto (tensorflow/core/framework/tensor.proto): the one element, if it is one.
std::optional<double> ScalarOf(const WireField& tensor) {
  uint64_t dtype = 0;
  std::string_view content;
  std::optional<double> typed;
  int elements = 0;
  WireReader reader(tensor);
  WireField field;
  while (reader.Next(field)) {
    if (field.number == 1 && field.type == Type::kVarint) dtype = field.value;
    if (field.number == 4 && field.type == Type::kBytes) content = field.bytes;
    const bool packed = field.type == Type::kBytes;
    if (field.number == 5) {  // float_val
      if (packed && field.bytes.size() != 4) return std::nullopt;
      typed = FloatOf(packed ? LittleEndian(field.bytes) : field.value);
      ++elements;
    } else if (field.number == 6) {  // double_val
      if (packed && field.bytes.size() != 8) return std::nullopt;
      typed = DoubleOf(packed ? LittleEndian(field.bytes) : field.value);
      ++elements;
    } else if ((field.number == 7 || field.number == 10) && !packed) {  // int, int64
      typed = static_cast<double>(field.AsInt64());
      ++elements;
    }
  }
  if (reader.malformed() || elements > 1) return std::nullopt;
  if (typed) return typed;
  if (dtype == 1 && content.size() == 4) return FloatOf(LittleEndian(content));
  if (dtype == 2 && content.size() == 8) return DoubleOf(LittleEndian(content));
  if (dtype == 3 && content.size() == 4) {
    return static_cast<double>(static_cast<int32_t>(LittleEndian(content)));
  }
  if (dtype == 9 && content.size() == 8) {
    return static_cast<double>(static_cast<int64_t>(LittleEndian(content)));
  }
  return std::nullopt;
}

class EventReader {
 public:
  explicit EventReader(std::string_view name) : builder_(name, "tfevents") {
    builder_.set().run.framework = "tensorboard";
    builder_.set().run.clock = Clock::kUtc;
  }

  void Read(std::string_view bytes) {
    size_t at = 0;
    while (at < bytes.size()) {
      if (bytes.size() - at < kHeader) return Cut(at);
      if (!LengthIsSound(bytes.substr(at, kHeader))) {
        Count("record length with a wrong checksum, reading ends", Severity::kError,
              at);
        return;
      }
      ++verified_;
      const uint64_t length = LittleEndian(bytes.substr(at, 8));
      const size_t left = bytes.size() - at - kHeader;
      if (left < kFooter || length > left - kFooter) return Cut(at);
      const auto size = static_cast<size_t>(length);
      const std::string_view data = bytes.substr(at + kHeader, size);
      const std::string_view footer = bytes.substr(at + kHeader + size, kFooter);
      ++records_;
      if (MaskedCrc32c(data) == LittleEndian(footer)) {
        ++verified_;
        ReadEvent(data, at + kHeader);
      } else {
        Count("record with a wrong checksum, left out", Severity::kError, at);
      }
      at += kHeader + size + kFooter;
    }
  }

  base::Result<SeriesSet> Finish() {
    if (builder_.empty()) {
      return base::Fail(
          "LOGS-0031", base::ExitCode::kInput, "the event file has no scalar",
          builder_.set().run.name,
          "point at the file of the run that logs scalars; a run may write "
          "several files");
    }
    RunMeta& run = builder_.set().run;
    run.facts["records"] = std::to_string(records_);
    run.facts["checksums_verified"] = std::to_string(verified_);
    if (!version_.empty()) run.facts["file_version"] = version_;
    return builder_.Finish();
  }

 private:
  void Count(std::string_view what, Severity severity, size_t offset) {
    builder_.stats().Add(what, severity, static_cast<int64_t>(offset));
  }

  void Cut(size_t at) { Count("file ends inside a record", Severity::kWarning, at); }

  void ReadEvent(std::string_view message, size_t offset) {
    Place place{.offset = offset};
    WireReader reader(message, offset);
    WireField field, summary;
    while (reader.Next(field)) {
      if (field.number == 1 && field.type == Type::kFixed64) {
        place.time_ns = NsOf(field.AsDouble());
      } else if (field.number == 2 && field.type == Type::kVarint) {
        place.step = field.AsInt64();
      } else if (field.number == 3 && field.type == Type::kBytes) {
        version_ = std::string(field.bytes.substr(0, 64));
      } else if (field.number == 5 && field.type == Type::kBytes) {
        summary = field;
      } else if (field.number == 7) {
        Count("session log", Severity::kInfo, offset);
      }
    }
    if (reader.malformed()) Count("malformed message", Severity::kError, offset);
    if (summary.number == 0) return;
    builder_.Begin(place);
    WireReader values(summary);
    while (values.Next(field)) {
      if (field.number == 1 && field.type == Type::kBytes) ReadValue(field);
    }
    if (values.malformed()) Count("malformed message", Severity::kError, offset);
    builder_.End();
  }

  void ReadValue(const WireField& message) {
    std::string_view tag;
    std::optional<double> value;
    WireReader reader(message);
    WireField field;
    while (reader.Next(field)) {
      if (field.number == 1 && field.type == Type::kBytes) tag = field.bytes;
      if (field.number == 2 && field.type == Type::kFixed32)
        value = FloatOf(field.value);
      if (field.number == 8 && field.type == Type::kBytes) value = ScalarOf(field);
    }
    if (reader.malformed())
      Count("malformed message", Severity::kError, message.offset);
    if (!value) {
      Count("value that is no scalar", Severity::kInfo, message.offset);
    } else {
      builder_.Value(tag, *value);
    }
  }

  SeriesBuilder builder_;
  std::string version_;
  int64_t records_ = 0;
  int64_t verified_ = 0;
};

}  // namespace

bool LooksLikeTfevents(std::string_view bytes) {
  // Bytes of another origin pass by a chance of one in 2^32.
  return bytes.size() >= kHeader && LengthIsSound(bytes.substr(0, kHeader));
}

base::Result<SeriesSet> ParseTfevents(std::string_view bytes, std::string_view name) {
  if (!LooksLikeTfevents(bytes)) {
    return base::Fail("LOGS-0030", base::ExitCode::kInput,
                      "the first record has no valid length and checksum",
                      std::string(name),
                      "check that the file is a TensorBoard event file "
                      "(events.out.tfevents...) and was copied whole");
  }
  EventReader reader(name);
  reader.Read(bytes);
  return reader.Finish();
}

}  // namespace stepslack::logs
