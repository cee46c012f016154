// SPDX-License-Identifier: MIT
import Foundation

extension Generation {
  /// Fills the holes ahead of readers, then those behind, until cancelled: by a background reader
  /// that reads nothing and gives way to all others (`FillPolicy.wholeResource`). Returns when
  /// nothing is left to do, or another generation has begun.
  func fill() async {
    let reader = withState { state in
      state.add(.init(isBackground: true, minimum: state.limits.firstRequest))
    }
    defer { leave(reader) }
    while !Task.isCancelled, entry.current === self, let hole = withState({ $0.holeToFill }) {
      var pause: Duration = .seconds(5)
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
          // A reader that needs the bytes gets the error. Some responses fail forever.
          if !entry.origin.isOffline { pause = .seconds(60) }
        }
      }
      // Throws only if cancelled.
      try? await Task.sleep(for: pause)
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
  /// Whether another process stores the entry (`Store.isTaken`). Not cancelled with the caller:
  /// what is prepared then serves other readers, too.
  func isTaken(for generation: Generation) async -> Bool {
    if generation.withState(\.storage.isPrepared) { return false }
    return await Task(executorPreference: IOThreads.background) { [self] in
      defer { endTask() }
      return beginTask() ? await storage.isTaken(for: generation) : false
    }.value
  }
}
