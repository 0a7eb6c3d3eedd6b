// Families of logic between registers: shifters, ALUs, encoders, codes, sorters.
#include "verilog_families.h"

namespace stepslack::eda {
namespace {

std::vector<std::vector<Parameter>> Widths(std::initializer_list<int> widths) {
  std::vector<std::vector<Parameter>> variants;
  for (const int width : widths) variants.push_back({{'W', width}});
  return variants;
}

const char* const kShift = R"(  wire [2*W-1:0] twice;
  assign twice = {a, a} >> n;
  assign y = op == 0 ? a << n : op == 1 ? a >> n
           : op == 2 ? $signed(a) >>> n : twice[W-1:0];
)";

const char* const kAlu = R"(  reg [W-1:0] r;
  always @* case (op)
    0: r = a + b;
    1: r = a - b;
    2: r = a & b;
    3: r = a | b;
    4: r = a ^ b;
    5: r = {W{a < b}};
    6: r = a << b[1:0];
    default: r = ~a;
  endcase
  assign y = r;
  assign zero = r == 0;
)";

const char* const kCompare = R"(  wire less;
  assign less = mode ? $signed(a) < $signed(b) : a < b;
  assign low = less ? a : b;
  assign high = less ? b : a;
  assign same = a == b;
)";

const char* const kEncoder = R"(  reg [5:0] r;
  integer k;
  always @* begin
    r = 0;
    for (k = 0; k < W; k = k + 1)
      if (a[k]) r = k;
  end
  assign y = r;
  assign any = |a;
)";

const char* const kPopcount = R"(  reg [5:0] r;
  integer k;
  always @* begin
    r = 0;
    for (k = 0; k < W; k = k + 1) r = r + a[k];
  end
  assign y = r;
)";

const char* const kGray = R"(  wire [W-1:0] binary;
  genvar i;
  generate for (i = 0; i < W; i = i + 1) begin : slice
    assign binary[i] = ^(a >> i);
  end endgenerate
  assign y = b ^ (b >> 1);
  assign more = binary > b;
)";

// A single-error-correcting code (Hamming 1950) with the position as the syndrome.
const char* const kHamming = R"(  reg [4:0] syndrome;
  reg [W-1:0] fixed;
  integer k;
  always @* begin
    syndrome = 0;
    for (k = 0; k < W; k = k + 1)
      if (a[k]) syndrome = syndrome ^ (k + 1);
    fixed = a;
    for (k = 0; k < W; k = k + 1)
      if (syndrome == k + 1) fixed[k] = ~a[k];
  end
  assign y = fixed;
  assign wrong = syndrome != 0;
)";

// Odd-even transposition: N rounds of exchanges of neighbours.
const char* const kSort = R"(  reg [N*W-1:0] v;
  reg [W-1:0] t;
  integer r, k;
  always @* begin
    v = x;
    t = 0;
    for (r = 0; r < N; r = r + 1)
      for (k = r % 2; k + 1 < N; k = k + 2)
        if (v[k*W +: W] > v[(k+1)*W +: W]) begin
          t = v[k*W +: W];
          v[k*W +: W] = v[(k+1)*W +: W];
          v[(k+1)*W +: W] = t;
        end
  end
  assign y = v;
)";

const char* const kCrossbar = R"(  genvar i;
  generate for (i = 0; i < N; i = i + 1) begin : column
    wire [2:0] from;
    assign from = select[3*i +: 3];
    assign y[i*W +: W] = from < N ? x >> (from * W) : 0;
  end endgenerate
)";

const char* const kDecoder = R"(  wire [(1<<W)-1:0] one;
  assign one = {{((1<<W)-1){1'b0}}, 1'b1};
  assign y = enable ? (one << a) ^ mask : mask;
)";

}  // namespace

std::vector<Datapath> LogicFamilies() {
  const Port a = {"a", "W"};
  const Port b = {"b", "W"};
  return {
      {"shifter",
       {a, {"n", "5"}, {"op", "2"}},
       {{"y", "W"}},
       kShift,
       Widths({8, 12, 16, 24, 32})},
      {"alu",
       {a, b, {"op", "3"}},
       {{"y", "W"}, {"zero", "1"}},
       kAlu,
       Widths({8, 4, 6, 12, 16, 24})},
      {"compare",
       {a, b, {"mode", "1"}},
       {{"low", "W"}, {"high", "W"}, {"same", "1"}},
       kCompare,
       Widths({8, 4, 12, 16, 24, 32})},
      {"encoder",
       {a},
       {{"y", "6"}, {"any", "1"}},
       kEncoder,
       Widths({16, 8, 24, 32, 48})},
      {"popcount", {a}, {{"y", "6"}}, kPopcount, Widths({12, 8, 16, 24, 32, 48})},
      {"gray", {a, b}, {{"y", "W"}, {"more", "1"}}, kGray, Widths({8, 6, 12, 16, 24})},
      {"hamming",
       {a},
       {{"y", "W"}, {"wrong", "1"}},
       kHamming,
       Widths({11, 7, 15, 21, 26, 31})},
      {"sorter",
       {{"x", "(N*W)"}},
       {{"y", "(N*W)"}},
       kSort,
       {{{'N', 3}, {'W', 4}},
        {{'N', 4}, {'W', 4}},
        {{'N', 5}, {'W', 4}},
        {{'N', 4}, {'W', 6}},
        {{'N', 6}, {'W', 4}}}},
      {"crossbar",
       {{"x", "(N*W)"}, {"select", "(3*N)"}},
       {{"y", "(N*W)"}},
       kCrossbar,
       {{{'N', 2}, {'W', 8}},
        {{'N', 4}, {'W', 4}},
        {{'N', 4}, {'W', 8}},
        {{'N', 6}, {'W', 4}},
        {{'N', 8}, {'W', 4}}}},
      {"decoder",
       {a, {"enable", "1"}, {"mask", "(1<<W)"}},
       {{"y", "(1<<W)"}},
       kDecoder,
       Widths({3, 4, 5, 6})},
  };
}

}  // namespace stepslack::eda
