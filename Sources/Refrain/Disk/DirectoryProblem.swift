// SPDX-License-Identifier: MIT
import Foundation

extension DiskError {
  /// Returns an error that says why a cache directory could not be made, and the remedy.
  func problem(ofDirectory path: String) -> MediaCacheError {
    // With a trailing slash, the path of a file does not resolve.
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    var isDirectory: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
      !isDirectory.boolValue
    {
      return MediaCacheError(
        .storage, "\(path) is a file, not a folder.", remedy: "Name a folder for the cache.")
    }
    return MediaCacheError(
      .storage, "The cache directory \(path) cannot be used: \(String(cString: strerror(code))).",
      remedy: code == ENOTDIR
        ? "A part of its path is a file: choose another directory."
        : "Choose another directory, or change its permissions.")
  }
}

/// Returns the result of work that reads a cache directory, whose failures it reports.
func reportingStorage<Result: Sendable>(_ work: () async throws -> Result) async throws -> Result {
  do {
    return try await work()
  } catch let error as DiskError {
    throw MediaCacheError(
      .storage, "The cache directory cannot be read: \(error).",
      remedy: "Check the disk and its permissions, then try again.")
  }
}
