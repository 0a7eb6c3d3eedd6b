// Errors as values. Three kinds are kept apart (docs/style.md): an expected failure is
// a Result, a bad record in a good file is a counter, a bug of ours is SS_CHECK.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace stepslack::base {

// Process exit codes, the same for every verb and output format.
enum class ExitCode {
  kOk = 0,
  kFinding = 1,       // a gate is not met, or a check found something
  kUsage = 2,         // flags or configuration
  kInput = 3,         // input unreadable or refused
  kEnvironment = 4,   // backend, port, device, space, permission
  kIntegrity = 5,     // digest or signature does not match
  kInternal = 70,     // our bug
  kInterrupted = 130  // SIGINT or SIGTERM
};

// An expected failure. `id` is stable ("DATA-0003") and listed in docs/messages.md.
struct Error {
  std::string id;
  ExitCode exit_code = ExitCode::kInput;
  std::string what;   // one sentence, no trailing full stop
  std::string where;  // file, line, rank, step; may be empty
  std::string help;   // the next step for the user
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// Builds the failure branch of a Result.
[[nodiscard]] inline tl::unexpected<Error> Fail(std::string id, ExitCode exit_code,
                                                std::string what, std::string where,
                                                std::string help) {
  return tl::unexpected<Error>(Error{std::move(id), exit_code, std::move(what),
                                     std::move(where), std::move(help)});
}

// "error[DATA-0003]: where: what\nhelp: next step\n".
std::string Describe(const Error& error);

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace stepslack::base

#define SS_CONCAT_INNER(a, b) a##b
#define SS_CONCAT(a, b) SS_CONCAT_INNER(a, b)

// SS_TRY(auto x, Compute());  returns the Error upward, else binds the value to x.
#define SS_TRY(declaration, expression) \
  SS_TRY_INNER(SS_CONCAT(ss_result_, __LINE__), declaration, expression)
#define SS_TRY_INNER(result, declaration, expression)                        \
  auto result = (expression);                                                \
  if (!result.has_value()) return tl::unexpected(std::move(result).error()); \
  declaration = std::move(result).value()

// SS_RETURN_IF_ERROR(Write(...));  for functions that return Status.
#define SS_RETURN_IF_ERROR(expression)                         \
  do {                                                         \
    if (auto ss_status = (expression); !ss_status.has_value()) \
      return tl::unexpected(std::move(ss_status).error());     \
  } while (false)

// Our own bug: prints the condition and aborts. User input must never reach it.
#define SS_CHECK(condition) \
  ((condition) ? void(0)    \
               : ::stepslack::base::CheckFailed(#condition, __FILE__, __LINE__))
