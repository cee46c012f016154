// SPDX-License-Identifier: MIT
import Foundation

/// What Apple's platforms are told of a directory of stored media, besides its permissions. On
/// Linux there is nothing to tell.
enum StoredMediaAttributes {
  /// Blocks.
  ///
  /// - Throws: what Foundation throws, where the file system or the system refuses; the one is set
  ///   even where the other is refused.
  static func set(on path: String) throws {
    let exclusion = Result { try excludeFromBackup(path) }
    try protect(path)
    try exclusion.get()
  }

  private static func excludeFromBackup(_ path: String) throws {
    #if canImport(Darwin)
      // What can be fetched again is no matter for a backup (URLResourceKey.isExcludedFromBackupKey),
      // wherever an app puts its cache. It holds for all that is in the directory.
      var directory = URL(filePath: path, directoryHint: .isDirectory)
      var values = URLResourceValues()
      values.isExcludedFromBackup = true
      try directory.setResourceValues(values)
    #endif
  }

  private static func protect(_ path: String) throws {
    // Not on a Mac, where files are encrypted as a volume: the attribute says nothing there.
    #if canImport(Darwin) && !os(macOS) && !targetEnvironment(macCatalyst)
      // Files take it over from the directory that they are made in. Not `.complete`, which an app
      // may have as its default: such files cannot be read some seconds after the device is locked,
      // when what plays in the background has to play on; nor opened, as the next song would have
      // to be. This is the strictest that lets both go on, and the system's own default.
      try FileManager.default.setAttributes(
        [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication],
        ofItemAtPath: path)
    #endif
  }
}
