#include "tar_members.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "peeked_source.h"

namespace stepslack::trace {
namespace {

constexpr size_t kBlock = 512;
constexpr int64_t kLongestName = 1 << 16;

using Header = std::array<char, kBlock>;

std::string_view Field(std::string_view header, size_t at, size_t size) {
  const std::string_view field = header.substr(at, size);
  return field.substr(0, field.find('\0'));
}

// Octal text, or the binary form that GNU uses for large sizes.
std::optional<int64_t> Number(std::string_view header, size_t at, size_t size) {
  const std::string_view field = header.substr(at, size);
  int64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (size_t i = field.size() - 7; i < field.size(); ++i) {
      value = (value << 8) | static_cast<unsigned char>(field[i]);
    }
    return value;
  }
  for (const char c : field) {
    if (c == ' ' || c == '\0') continue;
    if (c < '0' || c > '7' || value > (int64_t{1} << 58)) return std::nullopt;
    value = value * 8 + (c - '0');
  }
  return value;
}

bool CheckSumIsRight(std::string_view header) {
  const std::optional<int64_t> stated = Number(header, 148, 8);
  int64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return stated == sum;
}

// The bytes of one member; Skip() leaves the archive behind it.
class MemberSource : public ByteSource {
 public:
  MemberSource(ByteSource& archive, int64_t size) : archive_(archive), left_(size) {}

  size_t Read(char* out, size_t capacity) override {
    const size_t want =
        static_cast<size_t>(std::min<int64_t>(left_, static_cast<int64_t>(capacity)));
    if (want == 0) return 0;
    const size_t got = archive_.Read(out, want);
    left_ -= static_cast<int64_t>(got);
    if (got == 0) cut_ = true;
    return got;
  }
  bool damaged() const override { return cut_ || archive_.damaged(); }

  bool Skip() {
    std::vector<char> buffer(size_t{1} << 16);
    while (left_ > 0 && Read(buffer.data(), buffer.size()) != 0) {
    }
    return left_ == 0;
  }

 private:
  ByteSource& archive_;
  int64_t left_;
  bool cut_ = false;
};

std::string NameOf(std::string_view header) {
  const std::string_view prefix =
      header.substr(257, 5) == "ustar" ? Field(header, 345, 155) : std::string_view();
  std::string name(Field(header, 0, 100));
  return prefix.empty() ? name : std::string(prefix) + "/" + name;
}

// The value of "path" in pax records "<length> path=<value>\n".
std::string PaxPath(std::string_view records) {
  const size_t key = records.find(" path=");
  if (key == std::string_view::npos) return "";
  const size_t from = key + 6;
  return std::string(records.substr(from, records.find('\n', from) - from));
}

}  // namespace

bool LooksLikeTar(std::string_view head) {
  return head.size() >= kBlock && head[0] != '\0' &&
         CheckSumIsRight(head.substr(0, kBlock));
}

bool VisitTarMembers(
    ByteSource& archive,
    const std::function<void(const std::string& name, ByteSource& source)>& visit) {
  std::string long_name;
  Header block;
  while (true) {
    const size_t got = ReadFully(archive, block.data(), kBlock);
    if (got == 0) return !archive.damaged();
    const std::string_view header(block.data(), got);
    if (got < kBlock) return false;
    if (header.find_first_not_of('\0') == std::string_view::npos) return true;
    const std::optional<int64_t> size = Number(header, 124, 12);
    if (!CheckSumIsRight(header) || !size || *size < 0) return false;
    const char type = header[156];
    MemberSource member(archive, *size);
    if ((type == 'L' || type == 'x') && *size <= kLongestName) {
      std::string text(static_cast<size_t>(*size), '\0');
      text.resize(ReadFully(member, text.data(), text.size()));
      long_name = type == 'x' ? PaxPath(text) : text.substr(0, text.find('\0'));
    } else {
      const std::string name = long_name.empty() ? NameOf(header) : long_name;
      long_name.clear();
      if (type == '0' || type == '\0' || type == '7') visit(name, member);
    }
    if (!member.Skip()) return false;
    const auto padding =
        static_cast<size_t>((-*size) & static_cast<int64_t>(kBlock - 1));
    if (ReadFully(archive, block.data(), padding) != padding) return false;
  }
}

}  // namespace stepslack::trace
