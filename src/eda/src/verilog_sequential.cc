// Families with state of their own: codes over time, queues, files, counters.
#include "verilog_families.h"

namespace stepslack::eda {
namespace {

// D data bits a clock into a W-bit cyclic code; the taps are those of CRC-8, CRC-16
// (CCITT) and CRC-32 by width.
const char* const kCrc =
    R"(  localparam [31:0] TAPS = W == 8 ? 32'h07 : W == 16 ? 32'h1021 : 32'h04C11DB7;
  reg [W-1:0] r;
  integer k;
  always @* begin
    r = q;
    for (k = D-1; k >= 0; k = k - 1)
      r = {r[W-2:0], 1'b0} ^ ({W{r[W-1] ^ d[k]}} & TAPS[W-1:0]);
  end
  reg [W-1:0] state;
  assign q = state;
  always @(posedge clk) state <= rst ? {W{1'b1}} : r;
)";

// K steps of a Fibonacci register a clock.
const char* const kLfsr = R"(  reg [W-1:0] state, r;
  integer k;
  always @* begin
    r = state;
    for (k = 0; k < K; k = k + 1)
      r = {r[W-2:0], r[W-1] ^ r[W/2] ^ r[2] ^ r[0]};
  end
  always @(posedge clk) state <= rst ? {{(W-1){1'b0}}, 1'b1} : r;
  assign q = state;
)";

const char* const kFifo = R"(  reg [W-1:0] memory [0:D-1];
  reg [5:0] head, tail;
  wire [5:0] used;
  assign used = tail - head;
  assign full = used == D;
  assign empty = used == 0;
  assign q = memory[head % D];
  always @(posedge clk)
    if (rst) begin
      head <= 0;
      tail <= 0;
    end else begin
      if (push & ~full) begin
        memory[tail % D] <= d;
        tail <= tail + 1;
      end
      if (pop & ~empty) head <= head + 1;
    end
)";

const char* const kRegisterFile = R"(  reg [W-1:0] memory [0:D-1];
  reg [W-1:0] left, right;
  always @(posedge clk) begin
    if (write) memory[to % D] <= d;
    left <= memory[from % D];
    right <= memory[other % D];
  end
  assign q = left;
  assign s = left + right;
)";

const char* const kCounter = R"(  reg [W-1:0] count;
  always @(posedge clk)
    if (rst) count <= 0;
    else if (load) count <= d;
    else if (up) count <= count == d ? 0 : count + 1;
    else count <= count - 1;
  assign q = count ^ (count >> 1);
)";

// Direct form with fixed odd coefficients.
const char* const kFir = R"(  reg [T*W-1:0] line;
  reg [W+7:0] sum, out;
  integer k;
  always @* begin
    sum = 0;
    for (k = 0; k < T; k = k + 1) sum = sum + line[k*W +: W] * (2*k + 3);
  end
  always @(posedge clk) begin
    line <= {line[(T-1)*W-1:0], x};
    out <= sum;
  end
  assign y = out;
)";

// Round robin: the search starts behind the last winner.
const char* const kArbiter = R"(  reg [N-1:0] g, next;
  reg [4:0] last, winner;
  reg found;
  integer k;
  always @* begin
    next = 0;
    winner = last;
    found = 1'b0;
    for (k = 1; k <= N; k = k + 1)
      if (~found & request[(last + k) % N]) begin
        winner = (last + k) % N;
        next[(last + k) % N] = 1'b1;
        found = 1'b1;
      end
  end
  always @(posedge clk)
    if (rst) begin
      g <= 0;
      last <= 0;
    end else begin
      g <= next;
      last <= winner;
    end
  assign grant = g;
)";

const char* const kSerial = R"(  reg [W-1:0] shift;
  reg [4:0] left;
  reg [7:0] tick;
  reg odd;
  assign busy = left != 0;
  assign tx = busy ? shift[0] : 1'b1;
  assign parity = odd;
  always @(posedge clk)
    if (rst) begin
      shift <= 0;
      left <= 0;
      tick <= 0;
      odd <= 1'b0;
    end else if (start & ~busy) begin
      shift <= d;
      left <= W;
      tick <= rate;
      odd <= ^d;
    end else if (tick != 0) tick <= tick - 1;
    else if (busy) begin
      shift <= shift >> 1;
      left <= left - 1;
      tick <= rate;
    end
)";

const char* const kAccumulator = R"(  reg [2*W-1:0] sum;
  always @(posedge clk)
    if (rst) sum <= 0;
    else if (enable) sum <= minus ? sum - a * b : sum + a * b;
  assign q = sum;
)";

}  // namespace

std::vector<Sequential> SequentialFamilies() {
  const Port rst = {"rst", "1"};
  return {
      {"crc",
       {rst, {"d", "D"}},
       {{"q", "W"}},
       kCrc,
       {{{'W', 8}, {'D', 8}},
        {{'W', 8}, {'D', 4}},
        {{'W', 16}, {'D', 8}},
        {{'W', 16}, {'D', 16}},
        {{'W', 32}, {'D', 8}},
        {{'W', 32}, {'D', 32}}}},
      {"lfsr",
       {rst},
       {{"q", "W"}},
       kLfsr,
       {{{'W', 8}, {'K', 4}},
        {{'W', 16}, {'K', 8}},
        {{'W', 16}, {'K', 16}},
        {{'W', 32}, {'K', 16}},
        {{'W', 32}, {'K', 32}}}},
      {"fifo",
       {rst, {"push", "1"}, {"pop", "1"}, {"d", "W"}},
       {{"q", "W"}, {"full", "1"}, {"empty", "1"}},
       kFifo,
       {{{'D', 4}, {'W', 4}},
        {{'D', 4}, {'W', 8}},
        {{'D', 8}, {'W', 4}},
        {{'D', 8}, {'W', 8}},
        {{'D', 16}, {'W', 4}}}},
      {"regfile",
       {{"write", "1"}, {"to", "4"}, {"from", "4"}, {"other", "4"}, {"d", "W"}},
       {{"q", "W"}, {"s", "W"}},
       kRegisterFile,
       {{{'D', 4}, {'W', 4}},
        {{'D', 4}, {'W', 8}},
        {{'D', 8}, {'W', 4}},
        {{'D', 8}, {'W', 8}},
        {{'D', 16}, {'W', 4}}}},
      {"counter",
       {rst, {"load", "1"}, {"up", "1"}, {"d", "W"}},
       {{"q", "W"}},
       kCounter,
       {{{'W', 8}}, {{'W', 4}}, {{'W', 12}}, {{'W', 16}}, {{'W', 24}}, {{'W', 32}}}},
      {"fir",
       {{"x", "W"}},
       {{"y", "(W+8)"}},
       kFir,
       {{{'T', 3}, {'W', 4}},
        {{'T', 4}, {'W', 4}},
        {{'T', 4}, {'W', 6}},
        {{'T', 6}, {'W', 6}},
        {{'T', 8}, {'W', 4}}}},
      {"arbiter",
       {rst, {"request", "N"}},
       {{"grant", "N"}},
       kArbiter,
       {{{'N', 4}}, {{'N', 3}}, {{'N', 5}}, {{'N', 8}}}},
      {"serial",
       {rst, {"start", "1"}, {"d", "W"}, {"rate", "8"}},
       {{"tx", "1"}, {"busy", "1"}, {"parity", "1"}},
       kSerial,
       {{{'W', 8}}, {{'W', 5}}, {{'W', 12}}, {{'W', 16}}}},
      {"mac",
       {rst, {"enable", "1"}, {"minus", "1"}, {"a", "W"}, {"b", "W"}},
       {{"q", "(2*W)"}},
       kAccumulator,
       {{{'W', 4}}, {{'W', 3}}, {{'W', 6}}, {{'W', 8}}}},
  };
}

}  // namespace stepslack::eda
