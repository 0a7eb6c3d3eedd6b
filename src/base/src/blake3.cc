// BLAKE3 as in its specification (O'Connor, Aumasson, Neves and Wilcox-O'Hearn 2020),
// plain C++: names and section numbers are those of the paper.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "stepslack/base/byte_text.h"
#include "stepslack/base/content_hash.h"

namespace stepslack::base {
namespace {

constexpr size_t kBlockSize = 64;
constexpr size_t kChunkSize = 1024;
constexpr uint32_t kChunkStart = 1;
constexpr uint32_t kChunkEnd = 2;
constexpr uint32_t kParent = 4;
constexpr uint32_t kRoot = 8;

using ChainingValue = std::array<uint32_t, 8>;
using Block = std::array<uint32_t, 16>;

constexpr ChainingValue kIv = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                               0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
constexpr std::array<size_t, 16> kPermutation = {2, 6,  3,  10, 7, 0,  4,  13,
                                                 1, 11, 12, 5,  9, 14, 15, 8};

void Mix(Block& v, size_t a, size_t b, size_t c, size_t d, uint32_t x, uint32_t y) {
  v[a] = v[a] + v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] = v[c] + v[d];
  v[b] = std::rotr(v[b] ^ v[c], 12);
  v[a] = v[a] + v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 8);
  v[c] = v[c] + v[d];
  v[b] = std::rotr(v[b] ^ v[c], 7);
}

// What a node of the tree compresses last; only the root adds kRoot to it.
struct Node {
  ChainingValue input = kIv;
  Block block{};
  uint64_t counter = 0;
  uint32_t length = kBlockSize;
  uint32_t flags = 0;
};

// Section 2.2; the first half of the output is all that is needed for 32 bytes.
ChainingValue Compress(const Node& node, uint32_t more_flags = 0) {
  Block m = node.block;
  Block v{};
  std::copy(node.input.begin(), node.input.end(), v.begin());
  std::copy_n(kIv.begin(), 4, v.begin() + 8);
  v[12] = static_cast<uint32_t>(node.counter);
  v[13] = static_cast<uint32_t>(node.counter >> 32);
  v[14] = node.length;
  v[15] = node.flags | more_flags;
  for (int round = 0; round < 7; ++round) {
    for (size_t i = 0; i < 4; ++i) {
      Mix(v, i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1]);
    }
    for (size_t i = 0; i < 4; ++i) {
      Mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i],
          m[9 + 2 * i]);
    }
    Block permuted{};
    for (size_t i = 0; i < 16; ++i) permuted[i] = m[kPermutation[i]];
    m = permuted;
  }
  ChainingValue output{};
  for (size_t i = 0; i < 8; ++i) output[i] = v[i] ^ v[i + 8];
  return output;
}

Block WordsOf(std::string_view bytes) {
  Block block{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<uint32_t>(static_cast<unsigned char>(bytes[i]));
    block[i / 4] |= byte << (8 * (i % 4));
  }
  return block;
}

// Section 2.4: a chunk of at most 1024 bytes, all its blocks but the last compressed.
Node ChunkNode(std::string_view chunk, uint64_t counter) {
  Node node;
  node.counter = counter;
  node.flags = kChunkStart;
  while (chunk.size() > kBlockSize) {
    node.block = WordsOf(chunk.substr(0, kBlockSize));
    node.input = Compress(node);
    node.flags = 0;
    chunk.remove_prefix(kBlockSize);
  }
  node.block = WordsOf(chunk);
  node.length = static_cast<uint32_t>(chunk.size());
  node.flags |= kChunkEnd;
  return node;
}

// Section 2.5.
Node ParentNode(const ChainingValue& left, const ChainingValue& right) {
  Node node;
  node.flags = kParent;
  std::copy(left.begin(), left.end(), node.block.begin());
  std::copy(right.begin(), right.end(), node.block.begin() + 8);
  return node;
}

}  // namespace

std::string Blake3Of(std::string_view bytes) {
  // One chaining value for each complete subtree; a bit of the number of chunks that
  // turns to zero completes one more (section 5.1.2).
  std::vector<ChainingValue> stack;
  uint64_t chunks = 0;
  while (bytes.size() > kChunkSize) {
    ChainingValue value = Compress(ChunkNode(bytes.substr(0, kChunkSize), chunks));
    bytes.remove_prefix(kChunkSize);
    ++chunks;
    for (uint64_t done = chunks; (done & 1) == 0; done >>= 1) {
      value = Compress(ParentNode(stack.back(), value));
      stack.pop_back();
    }
    stack.push_back(value);
  }
  Node node = ChunkNode(bytes, chunks);
  while (!stack.empty()) {
    node = ParentNode(stack.back(), Compress(node));
    stack.pop_back();
  }
  std::string digest;
  for (uint32_t word : Compress(node, kRoot)) {
    for (int shift = 0; shift < 32; shift += 8) {
      digest += static_cast<char>(word >> shift & 0xff);
    }
  }
  return HexOf(digest);
}

}  // namespace stepslack::base
