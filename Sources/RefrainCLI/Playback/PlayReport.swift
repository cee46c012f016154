// SPDX-License-Identifier: MIT
import Refrain
import RefrainPlayer

/// The result of one play.
struct PlayReport: Sendable, Hashable, Encodable {
  var url: String
  /// Seconds from the start to the first sound; nil if there was none.
  var timeToFirstSound: Double?
  var bytesFromOrigin: Int64
  var bytesFromDisk: Int64
  var requests: Int
  /// Whether the media is a file, which does not involve the cache.
  var isFile = false
  /// Whether the media is a stream, whose bytes are not counted.
  var isStream = false

  /// Whether the item was skipped before anything was read.
  var isEmpty: Bool { timeToFirstSound == nil && bytesFromOrigin == 0 && bytesFromDisk == 0 }

  /// `first sound after 83 ms, from the origin 2.4 MiB in 5 requests, from disk 0 B`
  var text: String {
    let sound =
      timeToFirstSound.map { "first sound after \(TimeText.span(.seconds($0)))" } ?? "no sound"
    guard !isFile else { return "\(sound), from a file" }
    guard !isStream else { return "\(sound), a stream through the cache" }
    let origin = "from the origin \(ByteSize.text(bytesFromOrigin))"
    let asked = "in \(requests) \(requests == 1 ? "request" : "requests")"
    return "\(sound), \(origin) \(asked), from disk \(ByteSize.text(bytesFromDisk))"
  }

  private enum CodingKeys: String, CodingKey {
    case url, timeToFirstSound, bytesFromOrigin, bytesFromDisk, requests
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .url)
    try container.encodeIfPresent(timeToFirstSound, forKey: .timeToFirstSound)
    // Zeros would state that a stream came without the origin.
    guard !isStream else { return }
    try container.encode(bytesFromOrigin, forKey: .bytesFromOrigin)
    try container.encode(bytesFromDisk, forKey: .bytesFromDisk)
    try container.encode(requests, forKey: .requests)
  }
}
