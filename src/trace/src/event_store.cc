#include "stepslack/trace/event_store.h"

#include <algorithm>
#include <map>

namespace stepslack::trace {
namespace {

template <typename T>
void Permute(std::vector<T>& column, const std::vector<size_t>& order) {
  std::vector<T> sorted;
  sorted.reserve(column.size());
  for (const size_t from : order) sorted.push_back(column[from]);
  column = std::move(sorted);
}

template <typename T>
void Compact(std::vector<T>& column, const std::vector<bool>& keep) {
  size_t to = 0;
  for (size_t from = 0; from < column.size(); ++from) {
    if (keep[from]) column[to++] = column[from];
  }
  column.resize(to);
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
  if (store.stream[a] != store.stream[b]) return store.stream[a] < store.stream[b];
  if (store.correlation[a] != store.correlation[b]) {
    return store.correlation[a] < store.correlation[b];
  }
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
                        int64_t of_correlation, int64_t of_external_id) {
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
  external_id.push_back(of_external_id);
}

void EventStore::Merge(const EventStore& other) {
  std::vector<StringId> text;
  text.reserve(other.strings.size());
  for (StringId id = 0; id < other.strings.size(); ++id) {
    text.push_back(strings.Intern(other.strings.Get(id)));
  }
  const auto first_collective = static_cast<int32_t>(collectives.size());
  for (CollectiveArgs args : other.collectives) {
    args.name = text[args.name];
    args.group = text[args.group];
    collectives.push_back(args);
  }
  for (size_t i = 0; i < other.size(); ++i) {
    const bool plain = other.collective[i] == kNoCollective;
    Append(other.start_ns[i], other.end_ns[i], other.rank[i], other.process[i],
           other.thread[i], text[other.category[i]], text[other.name[i]],
           plain ? kNoCollective : other.collective[i] + first_collective,
           other.stream[i], other.correlation[i], other.external_id[i]);
  }
  operator_cover.insert(operator_cover.end(), other.operator_cover.begin(),
                        other.operator_cover.end());
  records_read += other.records_read;
  events_read += other.events_read;
  if (file_rank < 0) file_rank = other.file_rank;
  world_size = std::max(world_size, other.world_size);
  if (backend.empty()) backend = other.backend;
  if (other.truncated && !truncated) truncated_at = other.truncated_at;
  truncated = truncated || other.truncated;
  stats.Merge(other.stats);
  Sort();
}

void EventStore::SetRank(int32_t new_rank) {
  file_rank = new_rank;
  std::fill(rank.begin(), rank.end(), new_rank);
}

std::vector<EventStore> EventStore::SplitByRank() const {
  std::map<int32_t, EventStore> by_rank;
  int64_t without = 0;
  for (size_t i = 0; i < size(); ++i) {
    if (rank[i] < 0) {
      ++without;
      continue;
    }
    const auto [entry, is_new] = by_rank.try_emplace(rank[i]);
    EventStore& store = entry->second;
    if (is_new) {
      store.strings = strings;
      store.collectives = collectives;
      store.file_rank = rank[i];
      store.world_size = world_size;
      store.backend = backend;
      store.truncated = truncated;
      store.truncated_at = truncated_at;
    }
    store.Append(start_ns[i], end_ns[i], rank[i], process[i], thread[i], category[i],
                 name[i], collective[i], stream[i], correlation[i], external_id[i]);
    ++store.events_read;
  }
  std::vector<EventStore> stores;
  for (auto& [number, store] : by_rank) stores.push_back(std::move(store));
  if (!stores.empty()) {
    stores.front().stats.Merge(stats);
    if (without > 0) {
      stores.front().stats.Add("event of no rank in a merged trace", Severity::kInfo, 0,
                               without);
    }
  }
  return stores;
}

void EventStore::Sort() {
  // Most events differ in their start, so the keys hold it and the columns are looked
  // at only on a tie.
  struct Key {
    int64_t start = 0;
    size_t event = 0;
  };
  const auto before = [this](const Key& a, const Key& b) {
    if (a.start != b.start) return a.start < b.start;
    return Before(*this, a.event, b.event);
  };
  std::vector<Key> keys(size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = {start_ns[i], i};
  if (std::is_sorted(keys.begin(), keys.end(), before)) return;
  std::stable_sort(keys.begin(), keys.end(), before);
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) order[i] = keys[i].event;
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
  Permute(external_id, order);
}

void EventStore::KeepOnly(const std::vector<bool>& keep) {
  Compact(start_ns, keep);
  Compact(end_ns, keep);
  Compact(rank, keep);
  Compact(process, keep);
  Compact(thread, keep);
  Compact(category, keep);
  Compact(name, keep);
  Compact(collective, keep);
  Compact(stream, keep);
  Compact(correlation, keep);
  Compact(external_id, keep);
}

}  // namespace stepslack::trace
