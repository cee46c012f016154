// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Keeps the savings in the cache directory, where several programs add to them.
actor PageSavingsFile {
  private static let name = "savings.json"
  private static let longest = 4096
  private static let pause: TimeInterval = 60

  private let cache: MediaCache
  private let traffic: PageTraffic
  /// What this program has counted and already added to the file.
  private var added = PageSavings()
  /// What the file had when this program began.
  private var found = PageSavings()
  private var isOpen = false
  private var lastSave = Date.distantPast
  private var hasWarned = false
  /// The newest save, running or done.
  private var saving: Task<Void, Never>?

  init(_ cache: MediaCache, _ traffic: PageTraffic) {
    (self.cache, self.traffic) = (cache, traffic)
  }

  /// Reads the file. Without one, counting begins at zero.
  func open() async {
    guard !isOpen else { return }
    isOpen = true
    let files = cache.privateFiles
    let known = await IOThreads.background.run { Self.read(files) }
    if let known {
      found = known
      traffic.add(known)
    }
    added = traffic.savings
    lastSave = cache.now.wall
  }

  /// Saves what has been counted since the last time, if that is a while ago.
  func saveIfDue() async {
    guard cache.now.wall.timeIntervalSince(lastSave) >= Self.pause else { return }
    await save()
  }

  func save() async {
    guard isOpen else { return }
    // One after the other: each adds what those before have not.
    let task = Task { [before = saving] in
      await before?.value
      await saveNow()
    }
    saving = task
    await task.value
  }

  private func saveNow() async {
    lastSave = cache.now.wall
    let now = traffic.savings
    let news = now.since(added)
    guard news.all != PageSavings.Amount() else { return }
    let files = cache.privateFiles
    do {
      try await IOThreads.background.run {
        try files.withLock {
          // Another program may have added to it.
          var sum = news
          if let stored = Self.read(files) { sum.add(stored) }
          try files.replace(Self.name, with: Array(JSONEncoder().encode(sum)), syncs: false)
        }
      }
      added = now
    } catch {
      guard !hasWarned else { return }
      hasWarned = true
      cache.report(warning: "The bytes saved could not be recorded: \(error).")
    }
  }

  /// An unreadable or damaged file counts as none: the figures are not worth a failure.
  private static func read(_ files: PrivateFiles) -> PageSavings? {
    guard let contents = try? files.contents(of: name, limit: longest), !contents.isCut,
      let savings = try? JSONDecoder().decode(PageSavings.self, from: Data(contents.bytes)),
      savings.isPlausible
    else { return nil }
    return savings
  }
}
