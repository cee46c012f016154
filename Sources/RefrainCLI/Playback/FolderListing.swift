// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainPlayer

#if canImport(Darwin)
  import Darwin
#endif

/// Lists the media files of a folder and of the folders within it, in the order in which people
/// sort names. Hidden files and folders, and files whose names do not have the extension of media,
/// are left out. A symbolic link counts as its target; a folder that was listed already is left
/// out, so that a link to a folder around it ends.
struct FolderListing: Sendable {
  private(set) var files: [URL] = []
  /// The folders that cannot be listed, each with the reason in one sentence.
  private(set) var skipped: [String] = []
  private var visited: Set<FileIdentity> = []

  private struct FileIdentity: Hashable {
    var device: UInt64
    var number: UInt64
  }

  static let fileLimit = 100_000
  private static let folderLimit = 100_000
  private static let depthLimit = 64

  /// Lists on a thread for blocking work.
  ///
  /// - Throws: `CancellationError`; `MediaCacheError` if the folder itself cannot be listed.
  static func of(_ folder: URL) async throws -> FolderListing {
    let stop = Stop()
    return try await withTaskCancellationHandler {
      try await IOThreads.background.run { () throws -> FolderListing in
        var listing = FolderListing()
        try listing.list(folder.path(percentEncoded: false), stop)
        return listing
      }
    } onCancel: {
      stop.isRequested.store(true, ordering: .relaxed)
    }
  }

  private final class Stop: Sendable {
    let isRequested = Atomic<Bool>(false)
  }

  private mutating func list(_ folder: String, _ stop: Stop) throws {
    let root = folder.count > 1 && folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    if case .folder(let identity)? = Self.kind(of: root) { visited.insert(identity) }
    // Paths still to be visited, the next one last: folders may be nested deeper than a stack is.
    var pending = try Self.names(in: root).map { (path: Self.path(root, $0), depth: 1) }
    pending.reverse()
    while let next = pending.popLast() {
      if stop.isRequested.load(ordering: .relaxed) { throw CancellationError() }
      switch Self.kind(of: next.path) {
      case .file where MediaFiles.isMedia(next.path[...].split(separator: "/").last ?? ""):
        guard files.count < Self.fileLimit else {
          return skipped.append("Only the first \(Self.fileLimit) files are played.")
        }
        files.append(URL(filePath: next.path, directoryHint: .notDirectory))
      case .folder(let identity):
        guard visited.count < Self.folderLimit, next.depth < Self.depthLimit else {
          skipped.append("“\(next.path)” is not listed: there are too many folders.")
          continue
        }
        guard visited.insert(identity).inserted else { continue }
        do {
          let names = try Self.names(in: next.path)
          pending += names.reversed().map { (Self.path(next.path, $0), next.depth + 1) }
        } catch {
          skipped.append("“\(next.path)” is not listed: \(error.reason)")
        }
      case .file, nil: continue
      }
    }
  }

  private static func path(_ folder: String, _ name: String) -> String {
    folder == "/" ? "/\(name)" : "\(folder)/\(name)"
  }

  private static func names(in folder: String) throws(MediaCacheError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder)
        .filter { !$0.hasPrefix(".") }.sorted(by: MediaFiles.isInOrder)
    } catch {
      throw MediaCacheError(
        .storage, "The folder cannot be read: \(error.localizedDescription)",
        remedy: "Check its permissions.")
    }
  }

  private enum Kind {
    case file
    case folder(FileIdentity)
  }

  /// Nil for what is neither: a device, a pipe, a link to nothing.
  private static func kind(of path: String) -> Kind? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .file
    case S_IFDIR:
      return .folder(
        FileIdentity(
          device: UInt64(truncatingIfNeeded: status.st_dev),
          number: UInt64(truncatingIfNeeded: status.st_ino)))
    default: return nil
    }
  }

  /// Whether a URL is that of a folder.
  static func isFolder(_ url: URL) -> Bool {
    guard url.isFileURL, case .folder? = kind(of: url.path(percentEncoded: false)) else {
      return false
    }
    return true
  }

  /// Whether a URL is that of an ordinary file, which can be read more than once.
  static func isFile(_ url: URL) -> Bool {
    guard url.isFileURL, case .file? = kind(of: url.path(percentEncoded: false)) else {
      return false
    }
    return true
  }
}
