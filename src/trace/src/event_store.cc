#include "stepslack/trace/event_store.h"

#include <algorithm>
#include <numeric>

namespace stepslack::trace {
namespace {

template <typename T>
void Permute(std::vector<T>& column, const std::vector<size_t>& order) {
  std::vector<T> sorted;
  sorted.reserve(column.size());
  for (const size_t from : order) sorted.push_back(column[from]);
  column = std::move(sorted);
}

// Total order of two collectives by content, for events that are equal otherwise.
int CompareCollectives(const EventStore& store, int32_t a, int32_t b) {
  if (a == kNoCollective || b == kNoCollective) {
    return static_cast<int>(a != kNoCollective) - static_cast<int>(b != kNoCollective);
  }
  const CollectiveArgs& left = store.collectives[static_cast<size_t>(a)];
  const CollectiveArgs& right = store.collectives[static_cast<size_t>(b)];
  if (left.seq != right.seq) return left.seq < right.seq ? -1 : 1;
  if (left.bytes != right.bytes) return left.bytes < right.bytes ? -1 : 1;
  if (left.group_size != right.group_size) {
    return left.group_size < right.group_size ? -1 : 1;
  }
  const int group =
      store.strings.Get(left.group).compare(store.strings.Get(right.group));
  if (group != 0) return group;
  return store.strings.Get(left.name).compare(store.strings.Get(right.name));
}

bool Before(const EventStore& store, size_t a, size_t b) {
  if (store.start_ns[a] != store.start_ns[b]) {
    return store.start_ns[a] < store.start_ns[b];
  }
  if (store.end_ns[a] != store.end_ns[b]) return store.end_ns[a] > store.end_ns[b];
  if (store.rank[a] != store.rank[b]) return store.rank[a] < store.rank[b];
  if (store.process[a] != store.process[b]) return store.process[a] < store.process[b];
  if (store.thread[a] != store.thread[b]) return store.thread[a] < store.thread[b];
  if (store.category[a] != store.category[b]) {
    return store.CategoryOf(a) < store.CategoryOf(b);
  }
  if (store.name[a] != store.name[b]) return store.NameOf(a) < store.NameOf(b);
  return CompareCollectives(store, store.collective[a], store.collective[b]) < 0;
}

}  // namespace

StringPool::StringPool() { Intern(""); }

StringPool::StringPool(const StringPool& other) : texts_(other.texts_) {
  for (size_t i = 0; i < texts_.size(); ++i) {
    ids_.emplace(texts_[i], static_cast<StringId>(i));
  }
}

StringPool& StringPool::operator=(const StringPool& other) {
  if (this != &other) *this = StringPool(other);
  return *this;
}

StringId StringPool::Intern(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  texts_.emplace_back(text);
  const StringId id = static_cast<StringId>(texts_.size() - 1);
  ids_.emplace(texts_.back(), id);
  return id;
}

void EventStore::Append(int64_t start, int64_t end, int32_t of_rank, int64_t of_process,
                        int64_t of_thread, StringId of_category, StringId of_name,
                        int32_t of_collective, int32_t of_stream,
                        int64_t of_correlation) {
  start_ns.push_back(start);
  end_ns.push_back(end);
  rank.push_back(of_rank);
  process.push_back(of_process);
  thread.push_back(of_thread);
  category.push_back(of_category);
  name.push_back(of_name);
  collective.push_back(of_collective);
  stream.push_back(of_stream);
  correlation.push_back(of_correlation);
}

void EventStore::SetRank(int32_t new_rank) {
  file_rank = new_rank;
  std::fill(rank.begin(), rank.end(), new_rank);
}

void EventStore::Sort() {
  std::vector<size_t> order(size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [this](size_t a, size_t b) { return Before(*this, a, b); });
  Permute(start_ns, order);
  Permute(end_ns, order);
  Permute(rank, order);
  Permute(process, order);
  Permute(thread, order);
  Permute(category, order);
  Permute(name, order);
  Permute(collective, order);
  Permute(stream, order);
  Permute(correlation, order);
}

}  // namespace stepslack::trace
