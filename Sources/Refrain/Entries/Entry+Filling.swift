// SPDX-License-Identifier: MIT
import RefrainLocks

/// Filling an entry to its end for readers that want the whole resource.
extension Entry {
  /// Fills holes while there are readers that want the whole resource; called when one arrives.
  func beginFilling() {
    state.withLock { state in
      state.wholeReaders += 1
      startFilling(&state)
    }
  }

  func startFilling(_ state: inout State) {
    guard state.wholeReaders > 0, state.filler == nil, !state.isShutDown else { return }
    state.tasks += 1
    state.fillerNumber += 1
    state.filler = Task(executorPreference: IOThreads.shared) { [number = state.fillerNumber] in
      let filled = await WholeResourceFill(entry: self).run()
      self.fillerEnded(number, filled)
    }
  }

  /// - Parameter filled: the generation of which nothing more is to be filled; nil if the filler was
  ///   cancelled.
  private func fillerEnded(_ number: Int, _ filled: Generation?) {
    closeIfUnused { state in
      state.tasks -= 1
      guard state.fillerNumber == number else { return }
      state.filler = nil
      // Another generation may have begun since the filler looked at this one, and have found it
      // running.
      if let filled, filled !== state.current { startFilling(&state) }
    }
  }

  func endFilling() {
    let filler = state.withLock { state -> Task<Void, Never>? in
      state.wholeReaders -= 1
      guard state.wholeReaders == 0 else { return nil }
      defer { state.filler = nil }
      return state.filler
    }
    filler?.cancel()
  }
}
