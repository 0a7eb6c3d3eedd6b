// Yardstick of measure_bench.py: simdjson's own parse of JSON files, nothing more.
// Usage: simdjson_parse FILE...; prints the files that parsed.
#include <simdjson.h>

#include <cstdio>

int main(int argc, char** argv) {
  simdjson::dom::parser parser;
  int parsed = 0;
  for (int i = 1; i < argc; ++i) {
    simdjson::padded_string text;
    if (simdjson::padded_string::load(argv[i]).get(text) != simdjson::SUCCESS) continue;
    simdjson::dom::element root;
    parsed += parser.parse(text).get(root) == simdjson::SUCCESS ? 1 : 0;
  }
  std::printf("%d\n", parsed);
  return parsed == argc - 1 ? 0 : 1;
}
