// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// Fills the holes of a generation ahead of readers, then those behind, until cancelled: by a
/// background reader that reads nothing and gives way to all others (`FillPolicy.wholeResource`).
extension Generation {
  /// The delay after the origin could not be reached, or the disk was full. It doubles while
  /// nothing new arrives: some responses fail again and again at the same byte.
  private static let fillPause: Duration = .seconds(5)
  private static let longestFillPause: Duration = .seconds(320)

  fileprivate func fill() async {
    var pause = Self.fillPause
    var storedBefore: Int64 = -1
    while !Task.isCancelled {
      let reader = withState { state in
        state.add(.init(isBackground: true, minimum: state.limits.firstRequest))
      }
      defer { leave(reader) }
      do {
        return try await fill(for: reader)
      } catch let error as MediaCacheError where error == GenerationState.keepsChanging {
        // A reader that asks again may begin another version, which is filled then.
        return
      } catch {
        // A reader that needs the bytes gets the error; filling just tries again later.
        let stored = withState { $0.stored.byteCount }
        // Offline, nothing was tried that could fail again.
        let isOffline = (error as? MediaCacheError)?.code == .offline
        let startsOver = stored > storedBefore || isOffline
        pause = startsOver ? Self.fillPause : min(pause * 2, Self.longestFillPause)
        storedBefore = stored
        do { try await Task.sleep(for: pause) } catch { return }
      }
    }
  }

  /// Returns when nothing is left to do, or another generation has begun, which has its own fill.
  private func fill(for reader: ReaderID) async throws {
    while let hole = withState({ $0.holeToFill }) {
      try Task.checkCancellation()
      var isRefused = withState { $0.storage.isRefused(at: .now) }
      if !isRefused { isRefused = await entry.storage.isTaken(for: self) }
      if isRefused {
        try await Task.sleep(for: Self.fillPause)
        continue
      }
      // Moves the reader there.
      _ = withState { $0.lookUp(reader, at: hole, count: 0) }
      try await wait(reader, at: hole)
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
  /// Fills holes while there are readers that want the whole resource.
  func beginFilling() {
    state.withLock { state in
      state.wholeReaders += 1
      startFilling(&state)
    }
  }

  func startFilling(_ state: inout State) {
    guard state.wholeReaders > 0, state.filler == nil, !state.isShutDown,
      let generation = state.current
    else { return }
    state.tasks += 1
    state.fillerNumber += 1
    state.filler = Task(executorPreference: IOThreads.shared) { [number = state.fillerNumber] in
      await generation.fill()
      self.closeIfUnused { state in
        state.tasks -= 1
        // A later reader may find holes again.
        if state.fillerNumber == number { state.filler = nil }
      }
    }
  }

  func endFilling() {
    let filler = state.withLock { state -> Task<Void, Never>? in
      state.wholeReaders -= 1
      return state.wholeReaders == 0 ? state.filler.take() : nil
    }
    filler?.cancel()
  }
}
