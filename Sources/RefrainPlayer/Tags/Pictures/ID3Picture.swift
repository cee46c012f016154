// SPDX-License-Identifier: MIT

/// The pictures of ID3v2: the frames APIC (ID3v2.4.0-frames §4.14) and, in version 2.2, PIC.
extension ID3v2 {
  /// - Parameter isOptional: whether the tag is worth reading only if that costs no request.
  static func picture(
    in bytes: TagBytes, at start: Int64, isOptional: Bool = false
  ) throws(TagBytes.Missing) -> [UInt8]? {
    guard var frames = try frames(in: bytes, at: start, isOptional: isOptional) else { return nil }
    var other: (frame: ID3Frames.Frame, head: Head)?
    for _ in 0..<mostFrames {
      guard let frame = try frames.next() else { break }
      guard frame.id == "APIC" || frame.id == "PIC", frame.size <= bytes.mostAtOnce,
        let beginning = try frames.content(of: frame, upTo: TagText.limit),
        let head = Head(beginning, version: frames.version)
      else { continue }
      if head.isFrontCover { return try picture(of: frame, behind: head, frames) }
      if other == nil { other = (frame, head) }
    }
    guard let other else { return nil }
    return try picture(of: other.frame, behind: other.head, frames)
  }

  private static func picture(
    of frame: ID3Frames.Frame, behind head: Head, _ frames: ID3Frames
  ) throws(TagBytes.Missing) -> [UInt8]? {
    guard let content = try frames.content(of: frame, upTo: .max) else { return nil }
    let picture = content.dropFirst(head.length)
    return picture.count <= EmbeddedPicture.limit ? Array(picture) : nil
  }

  /// The beginning of such a frame.
  private struct Head {
    var isFrontCover: Bool
    /// The number of bytes in front of the picture.
    var length: Int

    /// Returns nil if no picture follows that desktops show, as where a URL stands in its place.
    init?(_ content: ArraySlice<UInt8>, version: UInt8) {
      var rest = content
      guard let encoding = rest.popFirst().flatMap(TagText.Encoding.init) else { return nil }
      if version == 2 {
        rest = rest.dropFirst(3)
      } else {
        guard let end = rest.firstIndex(of: 0) else { return nil }
        rest = rest[(end + 1)...]
      }
      guard let type = rest.popFirst(), Self.skipText(of: &rest, encoding),
        PictureFormat(beginning: rest) != nil
      else { return nil }
      isFrontCover = type == EmbeddedPicture.frontCover
      length = content.count - rest.count
    }

    /// Removes a text and the zero behind it, of two bytes in UTF-16. Returns false if it has no
    /// end.
    private static func skipText(
      of rest: inout ArraySlice<UInt8>, _ encoding: TagText.Encoding
    ) -> Bool {
      let width =
        switch encoding {
        case .latin1, .utf8: 1
        case .utf16, .utf16BigEndian: 2
        }
      while rest.count >= width {
        let character = rest.prefix(width)
        rest = rest.dropFirst(width)
        if character.allSatisfy({ $0 == 0 }) { return true }
      }
      return false
    }
  }
}
