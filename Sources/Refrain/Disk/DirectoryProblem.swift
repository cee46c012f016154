// SPDX-License-Identifier: MIT
import Foundation

/// Describes why a cache directory could not be made or used.
enum DirectoryProblem {
  /// Returns an error that names the cause and the remedy, from whichever layer `error` comes.
  static func error(_ error: any Error, path: String) -> MediaCacheError {
    // With a trailing slash, the path of a file does not resolve.
    let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    var isDirectory: ObjCBool = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory),
      !isDirectory.boolValue
    {
      return MediaCacheError(
        .storage, "\(path) is a file, not a folder.", remedy: "Name a folder for the cache.")
    }
    let code = number(of: error)
    let words = code.map { String(cString: strerror($0)) } ?? error.localizedDescription
    return MediaCacheError(
      .storage, "The cache directory \(path) cannot be used: \(words).",
      remedy: code == ENOTDIR
        ? "A part of its path is a file: choose another directory."
        : "Choose another directory, or change its permissions.")
  }

  /// Returns the errno(3) value that Foundation wraps.
  private static func number(of error: any Error) -> CInt? {
    if let error = error as? DiskError { return error.code }
    var error: (any Error)? = error
    while let now = error.map({ $0 as NSError }) {
      if now.domain == NSPOSIXErrorDomain { return CInt(truncatingIfNeeded: now.code) }
      error = now.userInfo[NSUnderlyingErrorKey] as? any Error
    }
    return nil
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
