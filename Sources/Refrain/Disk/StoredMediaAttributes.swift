// SPDX-License-Identifier: MIT
import Foundation

/// File attributes of a directory of stored media on Apple's platforms, besides its permissions.
/// Linux has none.
enum StoredMediaAttributes {
  /// Sets the attributes. Blocks.
  ///
  /// - Throws: the error of Foundation if the file system or the system refuses; one attribute is
  ///   set even if the other is refused.
  static func set(on path: String) throws {
    let exclusion = Result { try excludeFromBackup(path) }
    try protect(path)
    try exclusion.get()
  }

  private static func excludeFromBackup(_ path: String) throws {
    #if canImport(Darwin)
      // Media that can be fetched again need no backup (URLResourceKey.isExcludedFromBackupKey),
      // wherever an app puts its cache. The value applies to the directory's contents.
      var directory = URL(filePath: path, directoryHint: .isDirectory)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try directory.setResourceValues(values)
    #endif
  }

  private static func protect(_ path: String) throws {
    // Not on a Mac, which encrypts whole volumes: the attribute has no effect there.
    #if canImport(Darwin) && !os(macOS) && !targetEnvironment(macCatalyst)
      // Files inherit it from their directory. Not `.complete`, which an app may have as its
      // default: such files can be neither read nor opened some seconds after the device is locked,
      // when background playback must continue, also with the next song. This is the strictest
      // class that allows both, and the system's default.
      try FileManager.default.setAttributes(
        [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication],
        ofItemAtPath: path)
    #endif
  }
}
