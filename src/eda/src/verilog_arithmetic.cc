// Families of arithmetic: adders of several architectures, multipliers, dividers,
// filters. The architecture is written out where it is the point of the family; a
// plain operator leaves it to the synthesiser.
#include "verilog_families.h"

namespace stepslack::eda {
namespace {

std::vector<std::vector<Parameter>> Widths(std::initializer_list<int> widths) {
  std::vector<std::vector<Parameter>> variants;
  for (const int width : widths) variants.push_back({{'W', width}});
  return variants;
}

const char* const kRipple = R"(  wire [W:0] c;
  assign c[0] = 1'b0;
  genvar i;
  generate for (i = 0; i < W; i = i + 1) begin : bit_slice
    assign s[i] = a[i] ^ b[i] ^ c[i];
    assign c[i+1] = (a[i] & b[i]) | (c[i] & (a[i] ^ b[i]));
  end endgenerate
  assign s[W] = c[W];
)";

const char* const kCarrySelect = R"(  wire [W/4:0] c;
  assign c[0] = 1'b0;
  genvar i;
  generate for (i = 0; i < W/4; i = i + 1) begin : block
    wire [4:0] s0, s1;
    assign s0 = a[4*i+3:4*i] + b[4*i+3:4*i];
    assign s1 = a[4*i+3:4*i] + b[4*i+3:4*i] + 5'd1;
    assign s[4*i+3:4*i] = c[i] ? s1[3:0] : s0[3:0];
    assign c[i+1] = c[i] ? s1[4] : s0[4];
  end endgenerate
  assign s[W] = c[W/4];
)";

// Kogge and Stone 1973: every carry in log2 W levels.
const char* const kPrefix = R"(  reg [W-1:0] g, p, h, r;
  integer d, k;
  always @* begin
    g = a & b;
    p = a ^ b;
    for (d = 1; d < W; d = 2*d) begin
      h = g;
      r = p;
      for (k = d; k < W; k = k + 1) begin
        h[k] = g[k] | (p[k] & g[k-d]);
        r[k] = p[k] & p[k-d];
      end
      g = h;
      p = r;
    end
  end
  assign s = {g[W-1], (a ^ b) ^ {g[W-2:0], 1'b0}};
)";

const char* const kSaturate = R"(  wire [W:0] sum, difference;
  assign sum = a + b;
  assign difference = a - b;
  assign s = op ? (difference[W] ? {W{1'b0}} : difference[W-1:0])
                : (sum[W] ? {W{1'b1}} : sum[W-1:0]);
)";

const char* const kShiftAdd = R"(  reg [2*W-1:0] r;
  integer k;
  always @* begin
    r = 0;
    for (k = 0; k < W; k = k + 1)
      if (b[k]) r = r + (a << k);
  end
  assign p = r;
)";

const char* const kRestoring = R"(  reg [W:0] rest;
  reg [W-1:0] quotient;
  integer k;
  always @* begin
    rest = 0;
    quotient = 0;
    for (k = W-1; k >= 0; k = k - 1) begin
      rest = {rest[W-1:0], a[k]};
      if (rest >= {1'b0, b}) begin
        rest = rest - {1'b0, b};
        quotient[k] = 1'b1;
      end
    end
  end
  assign q = quotient;
  assign r = rest[W-1:0];
)";

const char* const kAddTree = R"(  reg [W+3:0] sum;
  integer k;
  always @* begin
    sum = 0;
    for (k = 0; k < N; k = k + 1) sum = sum + x[k*W +: W];
  end
  assign s = sum;
)";

const char* const kDot = R"(  reg [2*W+3:0] sum;
  integer k;
  always @* begin
    sum = 0;
    for (k = 0; k < N; k = k + 1) sum = sum + x[k*W +: W] * y[k*W +: W];
  end
  assign s = sum;
)";

}  // namespace

std::vector<Datapath> ArithmeticFamilies() {
  const std::vector<Port> ab = {{"a", "W"}, {"b", "W"}};
  const std::vector<Port> sum = {{"s", "(W+1)"}};
  const std::vector<Port> product = {{"p", "(2*W)"}};
  return {
      {"ripple", ab, sum, kRipple, Widths({8, 4, 12, 16, 24, 32})},
      {"carryselect", ab, sum, kCarrySelect, Widths({8, 12, 16, 24, 32})},
      {"prefix", ab, sum, kPrefix, Widths({8, 6, 12, 16, 24, 32})},
      {"satadd",
       {{"a", "W"}, {"b", "W"}, {"op", "1"}},
       {{"s", "W"}},
       kSaturate,
       Widths({8, 6, 12, 16, 24, 32})},
      {"mult", ab, product, "  assign p = a * b;\n", Widths({4, 3, 5, 6, 7, 8})},
      {"smult", ab, product, "  assign p = $signed(a) * $signed(b);\n",
       Widths({4, 5, 6, 8})},
      {"shiftadd", ab, product, kShiftAdd, Widths({4, 5, 6, 8})},
      {"square", {{"a", "W"}}, product, "  assign p = a * a;\n", Widths({6, 4, 8, 10})},
      {"divider", ab, {{"q", "W"}, {"r", "W"}}, kRestoring, Widths({4, 3, 5, 6, 8})},
      {"addtree",
       {{"x", "(N*W)"}},
       {{"s", "(W+4)"}},
       kAddTree,
       {{{'N', 4}, {'W', 4}},
        {{'N', 4}, {'W', 8}},
        {{'N', 6}, {'W', 6}},
        {{'N', 8}, {'W', 4}},
        {{'N', 8}, {'W', 8}},
        {{'N', 12}, {'W', 4}}}},
      {"dot",
       {{"x", "(N*W)"}, {"y", "(N*W)"}},
       {{"s", "(2*W+4)"}},
       kDot,
       {{{'N', 2}, {'W', 3}},
        {{'N', 2}, {'W', 4}},
        {{'N', 3}, {'W', 3}},
        {{'N', 3}, {'W', 4}},
        {{'N', 2}, {'W', 6}}}},
  };
}

}  // namespace stepslack::eda
