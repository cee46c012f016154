// SPDX-License-Identifier: MIT
import Foundation

/// What another process does to the files of an entry that is open here only to be read: this one
/// then holds no lock that would keep it from purging, evicting or replacing them.
extension EntryStorage {
  /// What was found of a generation.
  private enum Finding {
    case unchanged
    /// Its record is gone, or describes another generation.
    case replaced
    /// The stored response was made stale.
    case outdated(Date?)
  }

  /// Compares the record on disk with the current generation. If the record is gone or another
  /// one, further readers begin with what is stored now, and those of the generation before
  /// continue. A response that was made stale is confirmed before it is used again.
  func noticeOthers(_ entry: Entry) {
    // No other process changes the files of a writer.
    guard lock == nil, let current = entry.current,
      current.withState({ $0.generationID != nil })
    else { return }
    do {
      switch try find(current) {
      case .unchanged: break
      case .replaced: startAnew(entry, after: current)
      case .outdated(let time): current.withState { $0.representation.outdate(since: time) }
      }
    } catch {
      // The next look may succeed, and reading reports what is wrong with the disk.
      seenRecord = nil
    }
  }

  private func find(_ generation: Generation) throws -> Finding {
    guard let status = try directory.disk.status(of: directory.recordPath) else {
      return .replaced
    }
    if status == seenRecord { return .unchanged }
    seenRecord = status
    let record: EntryRecord
    do throws(EntryDirectory.Problem) {
      record = try directory.loadRecord().record
    } catch {
      switch error {
      case .empty: return .replaced
      // Left as it is, as on opening.
      case .newer, .broken: return .unchanged
      case .unreadable(let failure): throw failure
      }
    }
    return generation.withState { state in
      guard record.key == key.rawValue, record.generation == state.generationID else {
        return .replaced
      }
      let known = state.representation
      if let time = record.invalidatedAt, time > known.invalidatedAt ?? .distantPast {
        return .outdated(time)
      }
      guard record.freshness.isOutdated == true, let freshness = known.freshness,
        freshness.isOutdated != true, record.freshness.confirmedAt >= freshness.confirmedAt
      else { return .unchanged }
      return .outdated(nil)
    }
  }

  private func startAnew(_ entry: Entry, after last: Generation) {
    var next = load(entry.emptyState())
    if next.generationID == nil { next.representation.follow(invalidatedAt: entry.now.wall) }
    next.storage.replace(
      next.storage.replaced.union(
        last.withState { $0.storage.replaced.union([$0.generationID].compactMap(\.self)) }))
    guard entry.startAnew(after: last, with: next) else { return }
    last.withState { state in
      state.storage.forbid(.forGood, .purged)
      state.filesRemoved()
    }
    // Without readers, its requests are of no use.
    if last.withState(\.readers.isEmpty) { last.perform { $0.supersede() } }
    events.send(.generationChanged(key))
  }
}

extension EntryTable {
  /// Notices what other processes have done to the files of the open entries.
  func noticeOthers() async {
    for entry in openEntries where entry.tryHold() {
      await entry.storage.noticeOthers(entry)
      entry.release()
    }
  }
}
