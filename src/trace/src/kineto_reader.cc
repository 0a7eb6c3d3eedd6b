#include "stepslack/trace/kineto_reader.h"

#include "byte_source.h"
#include "kineto_import.h"
#include "stepslack/base/result.h"

namespace stepslack::trace {

base::Result<EventStore> ParseKinetoTrace(std::string_view text, std::string_view name,
                                          const ReadOptions& options) {
  const std::unique_ptr<ByteSource> source = OverBytes(text);
  return ReadKineto(*source, name, options);
}

base::Result<EventStore> ReadKinetoTrace(const std::string& path,
                                         const ReadOptions& options) {
  SS_TRY(const std::unique_ptr<ByteSource> source, OpenFile(path));
  return ReadKineto(*source, path, options);
}

}  // namespace stepslack::trace
