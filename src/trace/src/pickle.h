// A reader for pickled data that can hold nothing but data: protocols 2 to 5, None,
// bool, int, float, text, bytes, list, tuple, set and dict. Opcodes that name, build or
// call an object (GLOBAL, REDUCE, BUILD, INST, OBJ, EXT, PERSID and their kin) are
// refused and never interpreted, so a file cannot make us run anything.
//
// The format: Lib/pickletools.py of CPython, which describes every opcode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stepslack/base/json.h"
#include "stepslack/base/result.h"

namespace stepslack::trace {

struct PickleOptions {
  // Values that are read, and values of the result, which also may not be more than
  // 65536 + 16 for each byte of the input.
  size_t max_nodes = 4'000'000;
  int max_depth = 64;
  // Lists under this key keep their first `short_list_items` items only. Call stacks
  // share their frames in the file; written out they would be most of the result.
  std::string_view short_list_key;
  size_t short_list_items = 0;
  // The byte where each item of the list under this key of the root began.
  std::string_view located_list_key;
};

struct Pickled {
  // Tuples and sets are arrays; whole numbers as keys are their decimal text; bytes are
  // text with U+FFFD for what is not UTF-8; integers beyond int64 are doubles.
  base::Json value;
  std::vector<int64_t> located;  // offsets, as asked for in the options
};

// True for the two bytes that open a pickle of protocol 2 to 5.
bool LooksLikePickle(std::string_view bytes);

// Errors: TRACE-0100 an opcode that is refused, TRACE-0101 damaged or cut short,
// TRACE-0102 more or deeper values than allowed (also a list that contains itself).
base::Result<Pickled> ReadPickle(std::string_view bytes, std::string_view name,
                                 const PickleOptions& options = {});

}  // namespace stepslack::trace
