// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Keeps the queue of downloads in the cache directory, so that it outlives the program.
///
/// Of several programs, one has the queue at a time, by a lock that ends with it in any way. The
/// others keep what is added to them in memory, and take the queue over once that one has ended or
/// has handed over: no two run the same downloads.
///
/// The file has mode 0600, as the URLs in it may grant access.
actor PageQueueFile {
  static let name = "downloads.json"
  private static let longest = 8 << 20

  /// Of what another version has written, unknown fields are ignored.
  private struct Contents: Codable {
    var downloads: [DownloadQueue.Saved]
  }

  private let cache: MediaCache
  private let downloads: PageDownloads
  private let isAllowed: @Sendable (URL) -> Bool
  private var held: PrivateFiles.Held?
  /// The revision of the queue that is in the file.
  private var saved: UInt64?
  private var isFollowing = false
  private var isOver = false
  private var hasWarned = false
  /// The newest work with the file, running or done.
  private var last: Task<Void, Never>?

  /// - Parameter isAllowed: whether the proxy may request a URL: its settings may have changed.
  init(
    _ cache: MediaCache, _ downloads: PageDownloads,
    isAllowed: @Sendable @escaping (URL) -> Bool
  ) {
    (self.cache, self.downloads, self.isAllowed) = (cache, downloads, isAllowed)
  }

  /// Takes the queue over if nobody else has it, and stores what has changed since the last time.
  /// Called every few seconds.
  func follow() async {
    guard !isFollowing, !isOver else { return }
    isFollowing = true
    await inTurn { await self.followNow() }
    isFollowing = false
  }

  /// Stores the queue, and lets another program have it. Called when no download runs any more.
  func close() async { await inTurn { await self.closeNow() } }

  /// Works one after the other.
  private func inTurn(_ work: @escaping @Sendable () async -> Void) async {
    let task = Task { [before = last] in
      await before?.value
      await work()
    }
    last = task
    await task.value
  }

  private func followNow() async {
    guard !isOver else { return }
    if held == nil { await takeOver() }
    await save()
  }

  private func closeNow() async {
    guard !isOver else { return }
    await followNow()
    isOver = true
    guard let held else { return }
    self.held = nil
    await IOThreads.background.run { held.release() }
  }

  private func takeOver() async {
    let files = cache.privateFiles
    do {
      let taken = try await IOThreads.background.run { () throws -> Taken? in
        guard let held = try files.hold(PrivateFiles.downloadsLockName) else { return nil }
        return Taken(held: held, found: try Self.read(files))
      }
      guard let taken else { return }
      held = taken.held
      hasWarned = false
      adopt(taken.found)
    } catch {
      warn("The downloads of the page could not be read from \(path) (\(error)).")
    }
  }

  private func adopt(_ found: Found) {
    switch found {
    case .nothing: break
    case .damage:
      cache.report(
        warning: "The downloads of the page in \(path) are damaged, and were ignored. Add them "
          + "again.")
    case .downloads(let list):
      let known = list.compactMap { checked($0) }
      downloads.change { $0.restore(known) }
    }
    let (revision, items) = downloads.saved
    // A queue that was never used needs no file.
    saved = items.isEmpty ? revision : nil
  }

  /// Returns nil for what is no URL of the web.
  private func checked(_ one: DownloadQueue.Saved) -> DownloadQueue.Saved? {
    guard let url = URL(string: one.url), WebURL(one.url) != nil, let host = url.host() else {
      return nil
    }
    guard !isAllowed(url) else { return one }
    var refused = one
    refused.state = DownloadQueue.Item.State.failed.rawValue
    refused.error = "Requests to \(host) are not allowed."
    return refused
  }

  private func save() async {
    guard held != nil else { return }
    let (revision, items) = downloads.saved
    guard revision != saved else { return }
    let files = cache.privateFiles
    do {
      try await IOThreads.background.run {
        try files.replace(Self.name, with: try Self.encoded(items))
      }
      saved = revision
      hasWarned = false
    } catch {
      warn(
        "The downloads of the page could not be stored in \(path) (\(error)). They are lost when "
          + "this program ends.")
    }
  }

  /// Reports a problem, unless one was reported since the last success.
  private func warn(_ text: String) {
    guard !hasWarned else { return }
    hasWarned = true
    cache.report(warning: text)
  }

  private var path: String { cache.privateFiles.path(of: Self.name) }

  // MARK: The format

  private enum Found: Sendable {
    case nothing, damage
    case downloads([DownloadQueue.Saved])
  }

  private struct Taken: Sendable {
    var held: PrivateFiles.Held
    var found: Found
  }

  private static func read(_ files: PrivateFiles) throws -> Found {
    guard let contents = try files.contents(of: name, limit: longest) else { return .nothing }
    guard !contents.isCut,
      let found = try? JSONDecoder().decode(Contents.self, from: Data(contents.bytes))
    else { return .damage }
    return .downloads(found.downloads)
  }

  /// Leaves out the last downloads if all would be too long to be read again.
  private static func encoded(_ items: [DownloadQueue.Saved]) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var items = items
    while true {
      let bytes = Array(try encoder.encode(Contents(downloads: items)))
      if bytes.count <= longest || items.isEmpty { return bytes }
      items.removeLast((items.count + 3) / 4)
    }
  }
}
