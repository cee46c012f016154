// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// What was found out a moment ago, by what it is about. May be used from any thread.
final class RecentNotes<Subject: Hashable & Sendable, Note: Sendable>: Sendable {
  private let capacity: Int
  /// In seconds; a note shows nothing any more after it.
  private let patience: Double
  private let notes = Mutex<[Subject: (note: Note, time: Uptime)]>([:])

  init(capacity: Int, patience: Double) {
    (self.capacity, self.patience) = (capacity, patience)
  }

  func insert(_ note: Note, on subject: Subject, at now: Uptime) {
    notes.withLock { notes in
      // What is forgotten is found out again.
      if notes.count >= capacity, notes[subject] == nil { notes = [:] }
      notes[subject] = (note, now)
    }
  }

  /// Returns what was found out lately; nil if nothing was.
  func note(on subject: Subject, at now: Uptime) -> Note? {
    notes.withLock { notes in
      guard let (note, time) = notes[subject], let elapsed = now.seconds(since: time),
        elapsed < patience
      else { return nil }
      return note
    }
  }
}
