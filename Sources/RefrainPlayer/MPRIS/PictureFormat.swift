// SPDX-License-Identifier: MIT

/// The formats of pictures that desktops show. The first bytes decide, not what a media states.
enum PictureFormat: Sendable, Hashable, CaseIterable {
  case jpeg, png, gif, webP

  /// The number of bytes that decide.
  static let decisive = 12

  /// Returns nil for any other format.
  init?(beginning bytes: some Collection<UInt8>) {
    let start = Array(bytes.prefix(Self.decisive))
    func has(_ part: some Collection<UInt8>, at offset: Int = 0) -> Bool {
      start.dropFirst(offset).starts(with: part)
    }
    if has([0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if has([0x89, 0x50, 0x4E, 0x47]) {
      self = .png
    } else if has("GIF8".utf8) {
      self = .gif
    } else if has("RIFF".utf8), has("WEBP".utf8, at: 8) {
      self = .webP
    } else {
      return nil
    }
  }

  var fileExtension: String {
    switch self {
    case .jpeg: "jpg"
    case .png: "png"
    case .gif: "gif"
    case .webP: "webp"
    }
  }
}
