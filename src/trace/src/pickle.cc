#include "pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <unordered_map>

#include "json_scanner.h"
#include "stepslack/base/utf8.h"

namespace stepslack::trace {
namespace {

enum class NodeKind : uint8_t { kNone, kBool, kInt, kDouble, kText, kList, kDict };

using NodeId = uint32_t;

// Containers hold ids, so a value that the file shares is stored once.
struct Node {
  NodeKind kind = NodeKind::kNone;
  int64_t offset = 0;
  int64_t number = 0;
  double real = 0;
  std::string_view text;
  std::vector<NodeId> items;  // of a dict: key, value, key, value
};

struct Extent {
  enum class State : uint8_t { kNew, kOpen, kDone } state = State::kNew;
  size_t values = 0;
  size_t text = 0;  // bytes
  int height = 0;   // levels below
};

struct OpcodeName {
  unsigned char code;
  const char* name;
};

// What we refuse on purpose, so that the message can name it.
constexpr OpcodeName kRefusedOpcodes[] = {
    {'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
    {'b', "BUILD"},     {'i', "INST"},          {'o', "OBJ"},
    {0x81, "NEWOBJ"},   {0x92, "NEWOBJ_EX"},    {0x82, "EXT1"},
    {0x83, "EXT2"},     {0x84, "EXT4"},         {'P', "PERSID"},
    {'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
    {'I', "INT"},       {'L', "LONG"},          {'F', "FLOAT"},
    {'S', "STRING"},    {'V', "UNICODE"},       {'p', "PUT"},
    {'g', "GET"},
};

class PickleReader {
 public:
  PickleReader(std::string_view bytes, std::string_view name,
               const PickleOptions& options)
      : bytes_(bytes), name_(name), options_(options) {}

  base::Result<Pickled> Run();

 private:
  enum class Step { kGoOn, kDone, kDamaged, kRefused, kTooMuch };

  Step ReadOpcode();
  Step ReadNumber(unsigned char code);
  Step ReadTextValue(unsigned char code);
  Step ReadContainer(unsigned char code);
  Step ReadMemo(unsigned char code);
  Step ReadStackOp(unsigned char code);
  Step ReadLong(size_t length_bytes);
  Step ReadBytes(size_t length_bytes);
  Step PushTuple(size_t count);
  Step Collect(NodeKind kind);            // from the mark into a new container
  Step Extend(NodeKind kind, bool many);  // into the container below

  bool Unsigned(size_t width, uint64_t& value);  // little endian
  Step Push(Node node);
  bool TakeMark(size_t& from);
  // Sharing makes a dump several times longer when it is written out, a file that is
  // made to hurt as many times as it likes.
  size_t ValueLimit() const {
    return std::min(options_.max_nodes, 65536 + 16 * bytes_.size());
  }
  size_t TextLimit() const { return (size_t{1} << 20) + 64 * bytes_.size(); }
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  bool Measure(NodeId id, int depth);
  bool Include(NodeId id, int levels, Extent& extent) const;
  bool IsShort(NodeId key, NodeId value) const;
  std::span<const NodeId> ShortItems(NodeId list) const;
  base::Json Convert(NodeId id) const;
  base::Json ConvertList(std::span<const NodeId> items) const;
  base::Json ConvertDict(const Node& node) const;
  void Locate(NodeId root, Pickled& result) const;
  tl::unexpected<base::Error> Error(Step step) const;

  std::string_view bytes_;
  std::string_view name_;
  PickleOptions options_;
  size_t position_ = 0;
  size_t opcode_at_ = 0;
  std::vector<Node> nodes_;
  std::vector<NodeId> stack_;
  std::vector<size_t> marks_;  // stack heights
  std::unordered_map<uint32_t, NodeId> memo_;
  std::vector<Extent> extents_;  // of nodes_, filled by Measure
};

tl::unexpected<base::Error> PickleReader::Error(Step step) const {
  const std::string where = fmt::format("{}, byte {}", name_, opcode_at_);
  if (step == Step::kRefused) {
    const auto code = static_cast<unsigned char>(bytes_[opcode_at_]);
    std::string opcode = fmt::format("opcode 0x{:02x}", code);
    for (const OpcodeName& refused : kRefusedOpcodes) {
      if (refused.code == code) opcode = fmt::format("opcode {}", refused.name);
    }
    return base::Fail(
        "TRACE-0100", base::ExitCode::kInput,
        fmt::format("the pickle is not plain data: {} is refused", opcode), where,
        "only dumps of containers, text and numbers are read; write the "
        "dump again with the recorder itself, or as JSON");
  }
  if (step == Step::kTooMuch) {
    return base::Fail(
        "TRACE-0102", base::ExitCode::kInput,
        fmt::format("the pickle holds more than {} values, or values more than {} deep",
                    ValueLimit(), options_.max_depth),
        where, "dump fewer records, or leave the call stacks out");
  }
  return base::Fail("TRACE-0101", base::ExitCode::kInput,
                    "the pickle is damaged or cut short", where,
                    "copy the file again; a process that is killed while it dumps "
                    "leaves half a file");
}

bool PickleReader::Unsigned(size_t width, uint64_t& value) {
  if (bytes_.size() - position_ < width) return false;
  value = 0;
  for (size_t i = 0; i < width; ++i) {
    const auto byte = static_cast<unsigned char>(bytes_[position_ + i]);
    value |= uint64_t{byte} << (8 * i);
  }
  position_ += width;
  return true;
}

PickleReader::Step PickleReader::Push(Node node) {
  if (nodes_.size() >= options_.max_nodes) return Step::kTooMuch;
  node.offset = static_cast<int64_t>(opcode_at_);
  nodes_.push_back(std::move(node));
  stack_.push_back(static_cast<NodeId>(nodes_.size() - 1));
  return Step::kGoOn;
}

bool PickleReader::TakeMark(size_t& from) {
  if (marks_.empty()) return false;
  from = marks_.back();
  marks_.pop_back();
  return true;
}

PickleReader::Step PickleReader::ReadLong(size_t length_bytes) {
  uint64_t length = 0;
  if (!Unsigned(length_bytes, length) || length > bytes_.size() - position_) {
    return Step::kDamaged;
  }
  const std::string_view digits = bytes_.substr(position_, length);
  position_ += length;
  const bool negative = length > 0 && static_cast<signed char>(digits.back()) < 0;
  if (length <= 8) {
    uint64_t value = negative ? ~uint64_t{0} : 0;
    for (size_t i = 0; i < length; ++i) {
      const uint64_t byte = static_cast<unsigned char>(digits[i]);
      value = (value & ~(uint64_t{0xff} << (8 * i))) | (byte << (8 * i));
    }
    return Push({.kind = NodeKind::kInt, .number = std::bit_cast<int64_t>(value)});
  }
  double value = 0;
  for (size_t i = length; i-- > 0;) {
    const auto byte = static_cast<unsigned char>(negative ? ~digits[i] : digits[i]);
    value = value * 256 + byte;
  }
  return Push({.kind = NodeKind::kDouble, .real = negative ? -value - 1 : value});
}

PickleReader::Step PickleReader::ReadBytes(size_t length_bytes) {
  uint64_t length = 0;
  if (!Unsigned(length_bytes, length) || length > bytes_.size() - position_) {
    return Step::kDamaged;
  }
  Node node{.kind = NodeKind::kText, .text = bytes_.substr(position_, length)};
  position_ += length;
  return Push(std::move(node));
}

PickleReader::Step PickleReader::ReadNumber(unsigned char code) {
  uint64_t value = 0;
  switch (code) {
    case 'N':
      return Push({});
    case 0x88:
    case 0x89:
      return Push({.kind = NodeKind::kBool, .number = code == 0x88 ? 1 : 0});
    case 'J':
      if (!Unsigned(4, value)) return Step::kDamaged;
      return Push({.kind = NodeKind::kInt,
                   .number = std::bit_cast<int32_t>(static_cast<uint32_t>(value))});
    case 'K':
    case 'M':
      if (!Unsigned(code == 'K' ? 1 : 2, value)) return Step::kDamaged;
      return Push({.kind = NodeKind::kInt, .number = static_cast<int64_t>(value)});
    case 'G': {
      if (!Unsigned(8, value)) return Step::kDamaged;
      uint64_t swapped = 0;  // the only number of the format that is big endian
      for (int i = 0; i < 8; ++i)
        swapped |= ((value >> (8 * i)) & 0xff) << (56 - 8 * i);
      return Push({.kind = NodeKind::kDouble, .real = std::bit_cast<double>(swapped)});
    }
    case 0x8a:
      return ReadLong(1);
    case 0x8b:
      return ReadLong(4);
    default:
      return Step::kRefused;
  }
}

PickleReader::Step PickleReader::ReadTextValue(unsigned char code) {
  switch (code) {
    case 0x8c:  // SHORT_BINUNICODE, SHORT_BINSTRING, SHORT_BINBYTES
    case 'U':
    case 'C':
      return ReadBytes(1);
    case 'X':  // BINUNICODE, BINSTRING, BINBYTES
    case 'T':
    case 'B':
      return ReadBytes(4);
    case 0x8d:  // BINUNICODE8, BINBYTES8, BYTEARRAY8
    case 0x8e:
    case 0x96:
      return ReadBytes(8);
    default:
      return Step::kRefused;
  }
}

PickleReader::Step PickleReader::PushTuple(size_t count) {
  if (stack_.size() - Floor() < count) return Step::kDamaged;
  Node node{.kind = NodeKind::kList};
  node.items.assign(stack_.end() - static_cast<ptrdiff_t>(count), stack_.end());
  stack_.resize(stack_.size() - count);
  return Push(std::move(node));
}

PickleReader::Step PickleReader::Collect(NodeKind kind) {
  size_t from = 0;
  if (!TakeMark(from)) return Step::kDamaged;
  Node node{.kind = kind};
  node.items.assign(stack_.begin() + static_cast<ptrdiff_t>(from), stack_.end());
  if (kind == NodeKind::kDict && node.items.size() % 2 != 0) return Step::kDamaged;
  stack_.resize(from);
  return Push(std::move(node));
}

PickleReader::Step PickleReader::Extend(NodeKind kind, bool many) {
  size_t from = stack_.size();
  const size_t one = kind == NodeKind::kDict ? 2 : 1;
  if (many) {
    if (!TakeMark(from)) return Step::kDamaged;
  } else {
    if (stack_.size() - Floor() < one) return Step::kDamaged;
    from = stack_.size() - one;
  }
  if (from <= Floor() || (stack_.size() - from) % one != 0) return Step::kDamaged;
  Node& container = nodes_[stack_[from - 1]];
  if (container.kind != kind) return Step::kDamaged;
  container.items.insert(container.items.end(),
                         stack_.begin() + static_cast<ptrdiff_t>(from), stack_.end());
  stack_.resize(from);
  return Step::kGoOn;
}

PickleReader::Step PickleReader::ReadContainer(unsigned char code) {
  switch (code) {
    case ']':
    case ')':
    case 0x8f:
      return Push({.kind = NodeKind::kList});
    case '}':
      return Push({.kind = NodeKind::kDict});
    case 0x85:
    case 0x86:
    case 0x87:
      return PushTuple(code - 0x84u);
    case 't':
    case 'l':
    case 0x91:
      return Collect(NodeKind::kList);
    case 'd':
      return Collect(NodeKind::kDict);
    case 'a':
      return Extend(NodeKind::kList, false);
    case 'e':
    case 0x90:
      return Extend(NodeKind::kList, true);
    case 's':
      return Extend(NodeKind::kDict, false);
    case 'u':
      return Extend(NodeKind::kDict, true);
    default:
      return Step::kRefused;
  }
}

PickleReader::Step PickleReader::ReadMemo(unsigned char code) {
  const bool get = code == 'h' || code == 'j';
  uint64_t index = memo_.size();
  if (code != 0x94 && !Unsigned(code == 'q' || code == 'h' ? 1 : 4, index)) {
    return Step::kDamaged;
  }
  if (get) {
    const auto found = memo_.find(static_cast<uint32_t>(index));
    if (found == memo_.end()) return Step::kDamaged;
    stack_.push_back(found->second);
    return stack_.size() > options_.max_nodes ? Step::kTooMuch : Step::kGoOn;
  }
  if (stack_.size() <= Floor()) return Step::kDamaged;
  memo_[static_cast<uint32_t>(index)] = stack_.back();
  return memo_.size() > options_.max_nodes ? Step::kTooMuch : Step::kGoOn;
}

PickleReader::Step PickleReader::ReadStackOp(unsigned char code) {
  uint64_t ignored = 0;
  switch (code) {
    case 0x80:
      return Unsigned(1, ignored) && ignored >= 2 && ignored <= 5 ? Step::kGoOn
                                                                  : Step::kDamaged;
    case 0x95:  // FRAME: a hint for readers of streams
      return Unsigned(8, ignored) && ignored <= bytes_.size() - position_
                 ? Step::kGoOn
                 : Step::kDamaged;
    case '(':
      marks_.push_back(stack_.size());
      return marks_.size() > options_.max_nodes ? Step::kTooMuch : Step::kGoOn;
    case '0':
      if (stack_.size() <= Floor()) return Step::kDamaged;
      stack_.pop_back();
      return Step::kGoOn;
    case '1': {
      size_t from = 0;
      if (!TakeMark(from)) return Step::kDamaged;
      stack_.resize(from);
      return Step::kGoOn;
    }
    case '2':
      if (stack_.size() <= Floor()) return Step::kDamaged;
      stack_.push_back(stack_.back());
      return stack_.size() > options_.max_nodes ? Step::kTooMuch : Step::kGoOn;
    default:
      return Step::kRefused;
  }
}

PickleReader::Step PickleReader::ReadOpcode() {
  opcode_at_ = position_;
  if (position_ >= bytes_.size()) return Step::kDamaged;
  const auto code = static_cast<unsigned char>(bytes_[position_++]);
  switch (code) {
    case '.':
      return stack_.size() == 1 && marks_.empty() ? Step::kDone : Step::kDamaged;
    case 'q':
    case 'r':
    case 'h':
    case 'j':
    case 0x94:
      return ReadMemo(code);
    default:
      break;
  }
  for (const auto read : {&PickleReader::ReadNumber, &PickleReader::ReadTextValue,
                          &PickleReader::ReadContainer, &PickleReader::ReadStackOp}) {
    const Step step = (this->*read)(code);
    if (step != Step::kRefused) return step;
  }
  return Step::kRefused;
}

// What a value becomes when it is written out: shared values count once per use. Each
// is measured once, so that a file whose values double at every level costs no more
// than its own size. False: more or deeper than allowed, or a container that holds
// itself.
bool PickleReader::Measure(NodeId id, int depth) {
  Extent& extent = extents_[id];
  if (extent.state == Extent::State::kDone) {
    return depth + extent.height <= options_.max_depth;
  }
  if (extent.state == Extent::State::kOpen || depth > options_.max_depth) return false;
  extent.state = Extent::State::kOpen;
  const Node& node = nodes_[id];
  extent.values = 1;
  extent.text = node.text.size();
  for (size_t i = 0; i < node.items.size(); ++i) {
    const bool is_value = node.kind == NodeKind::kDict && i % 2 == 1;
    if (is_value && IsShort(node.items[i - 1], node.items[i])) {
      for (const NodeId item : ShortItems(node.items[i])) {
        if (!Measure(item, depth + 2) || !Include(item, 2, extent)) return false;
      }
    } else if (!Measure(node.items[i], depth + 1) ||
               !Include(node.items[i], 1, extent)) {
      return false;
    }
  }
  extent.state = Extent::State::kDone;
  return true;
}

bool PickleReader::Include(NodeId id, int levels, Extent& extent) const {
  const Extent& part = extents_[id];
  extent.values += part.values;
  extent.text += part.text;
  extent.height = std::max(extent.height, part.height + levels);
  return extent.values <= ValueLimit() && extent.text <= TextLimit();
}

bool PickleReader::IsShort(NodeId key, NodeId value) const {
  return !options_.short_list_key.empty() && nodes_[value].kind == NodeKind::kList &&
         nodes_[key].text == options_.short_list_key;
}

std::span<const NodeId> PickleReader::ShortItems(NodeId list) const {
  const std::vector<NodeId>& items = nodes_[list].items;
  return std::span(items).first(std::min(items.size(), options_.short_list_items));
}

base::Json PickleReader::ConvertList(std::span<const NodeId> items) const {
  base::Json::Array array;
  array.reserve(items.size());
  for (const NodeId item : items) array.push_back(Convert(item));
  return base::Json(std::move(array));
}

base::Json PickleReader::ConvertDict(const Node& node) const {
  base::Json::Object object;
  for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
    const NodeId key = node.items[i];
    const NodeId value = node.items[i + 1];
    std::string text = nodes_[key].kind == NodeKind::kInt
                           ? std::to_string(nodes_[key].number)
                           : base::ValidUtf8(nodes_[key].text);
    object.insert_or_assign(std::move(text), IsShort(key, value)
                                                 ? ConvertList(ShortItems(value))
                                                 : Convert(value));
  }
  return base::Json(std::move(object));
}

// Measured before: neither large nor deep.
base::Json PickleReader::Convert(NodeId id) const {
  const Node& node = nodes_[id];
  switch (node.kind) {
    case NodeKind::kNone:
      break;
    case NodeKind::kBool:
      return base::Json(node.number != 0);
    case NodeKind::kInt:
      return base::Json(node.number);
    case NodeKind::kDouble:
      return base::Json(node.real);
    case NodeKind::kText:
      return base::Json(base::ValidUtf8(node.text));
    case NodeKind::kList:
      return ConvertList(node.items);
    case NodeKind::kDict:
      return ConvertDict(node);
  }
  return base::Json();
}

void PickleReader::Locate(NodeId root, Pickled& result) const {
  if (options_.located_list_key.empty() || nodes_[root].kind != NodeKind::kDict) return;
  const std::vector<NodeId>& members = nodes_[root].items;
  for (size_t i = 0; i + 1 < members.size(); i += 2) {
    if (nodes_[members[i]].text != options_.located_list_key) continue;
    result.located.clear();
    for (const NodeId item : nodes_[members[i + 1]].items) {
      result.located.push_back(nodes_[item].offset);
    }
  }
}

base::Result<Pickled> PickleReader::Run() {
  Step step = LooksLikePickle(bytes_) ? Step::kGoOn : Step::kDamaged;
  while (step == Step::kGoOn) step = ReadOpcode();
  if (step != Step::kDone) return Error(step);
  Pickled result;
  extents_.resize(nodes_.size());
  if (!Measure(stack_.back(), 0)) return Error(Step::kTooMuch);
  result.value = Convert(stack_.back());
  Locate(stack_.back(), result);
  return result;
}

}  // namespace

bool LooksLikePickle(std::string_view bytes) {
  return bytes.size() >= 2 && static_cast<unsigned char>(bytes[0]) == 0x80 &&
         bytes[1] >= 2 && bytes[1] <= 5;
}

base::Result<Pickled> ReadPickle(std::string_view bytes, std::string_view name,
                                 const PickleOptions& options) {
  return PickleReader(bytes, name, options).Run();
}

}  // namespace stepslack::trace
