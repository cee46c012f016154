// SPDX-License-Identifier: MIT
package import Foundation

/// Small files that belong together, such as one for each of many resources.
extension PrivateFiles {
  /// Creates the files of any directory, in place of a cache's. The directory is made if it is
  /// missing, but not its parents.
  package init(at directory: URL) {
    var path = directory.path(percentEncoded: false)
    if path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    disk = SystemDisk(for: path)
    budget = nil
  }

  /// Returns the names of the finished files that begin with `prefix`.
  package func names(withPrefix prefix: String) throws -> [String] {
    try disk.names(in: path).filter { $0.hasPrefix(prefix) && !Self.isTemporary($0) }
  }

  /// Whether a name is that of a temporary file, which `replace` had not renamed yet: these have a
  /// dot.
  private static func isTemporary(_ name: String) -> Bool { name.contains(".") }

  /// Removes the temporary files that ended programs have left, of the files whose names begin with
  /// `prefix`.
  ///
  /// - Parameter date: a temporary file that was changed since may be in use.
  package func removeTemporaryFiles(
    withPrefix prefix: String, unchangedSince date: Date = .now - 86_400
  ) throws {
    for name in try disk.names(in: path) where name.hasPrefix(prefix) && Self.isTemporary(name) {
      guard let status = try disk.status(of: path(of: name)), status.kind == .file,
        status.changed < date.timeIntervalSince1970
      else { continue }
      try disk.removeFile(path(of: name))
    }
  }

  /// Removes some files. Missing ones are no error.
  package func remove(_ names: [String]) throws {
    guard !names.isEmpty else { return }
    for name in names { try disk.removeFile(path(of: name)) }
    try syncDirectory()
  }

  /// Returns a text that changes when the file is replaced; nil if there is none.
  package func identity(of name: String) throws -> String? {
    try disk.status(of: path(of: name)).map { status in
      "\(status.identity.device) \(status.identity.inode) \(status.changed)"
    }
  }

  /// Removes the files that begin with `prefix` beyond a number, those unchanged for the longest
  /// time first.
  package func removeOldest(withPrefix prefix: String, keeping count: Int) throws {
    let count = max(0, count)
    let names = try names(withPrefix: prefix)
    guard names.count > count else { return }
    let byAge = try names.compactMap { name in
      try disk.status(of: path(of: name)).map { (name: name, changed: $0.changed) }
    }
    .sorted { $0.changed < $1.changed }
    try remove(byAge.dropLast(count).map(\.name))
  }
}

extension CacheKey {
  /// A name for a file about the key's resource: 32 hexadecimal digits.
  package var fileName: String { KeyHash.name(of: self) }
}
