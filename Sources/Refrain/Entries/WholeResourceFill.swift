// SPDX-License-Identifier: MIT
import Foundation

extension Generation {
  private static let fillPause: Duration = .seconds(5)
  private static let longestFillPause: Duration = .seconds(320)

  /// Fills the holes ahead of readers, then those behind, until cancelled: by a background reader that
  /// reads nothing and gives way to all others (`FillPolicy.wholeResource`). Returns when nothing is
  /// left to do, or another generation has begun.
  func fill() async {
    let reader = withState { state in
      state.add(.init(isBackground: true, minimum: state.limits.firstRequest))
    }
    defer { leave(reader) }
    var pause = Self.fillPause
    var storedBefore: Int64 = -1
    while !Task.isCancelled, entry.current === self, let hole = withState({ $0.holeToFill }) {
      var rest = Self.fillPause
      let isRefused = entry.origin.isOffline || withState { $0.storage.isRefused(at: .now) }
      if !isRefused, await !entry.isTaken(for: self) {
        // Moves the reader there.
        _ = withState { $0.lookUp(reader, at: hole, count: 0) }
        do {
          try await wait(reader, at: hole)
          continue
        } catch let error as MediaCacheError where error == GenerationState.keepsChanging {
          // A reader that asks again may begin another version, which is filled then.
          return
        } catch {
          // A reader that needs the bytes gets the error. Some responses fail again and again at the
          // same byte: the pause doubles while nothing new arrives.
          let stored = withState { $0.stored.byteCount }
          pause = stored > storedBefore ? Self.fillPause : min(pause * 2, Self.longestFillPause)
          (rest, storedBefore) = (pause, stored)
        }
      }
      // Throws only if cancelled.
      try? await Task.sleep(for: rest)
    }
  }
}

extension GenerationState {
  /// The first hole after the readers' positions, else the first of all.
  fileprivate var holeToFill: Int64? {
    if isOver || isLive { return nil }
    let front = readers.values.filter { !$0.isBackground }.map(\.position).max() ?? 0
    return hole(from: front) ?? hole(from: 0)
  }
}

extension Entry {
  /// Whether another process stores the entry (`Store.isTaken`). Not cancelled with the caller: what
  /// is prepared then serves other readers, too.
  func isTaken(for generation: Generation) async -> Bool {
    if generation.withState(\.storage.isPrepared) { return false }
    return await Task(executorPreference: IOThreads.background) { [self] in
      defer { endTask() }
      return beginTask() ? await storage.isTaken(for: generation) : false
    }.value
  }
}
