// SPDX-License-Identifier: MIT

/// MP4 (ISO/IEC 14496-12), with the tags of iTunes: `moov/udta/meta/ilst`. Behind the media itself
/// they are read only where that costs no request.
enum MP4Tags {
  private struct Box {
    var type: ArraySlice<UInt8>
    var body: Int64
    var end: Int64
  }

  private static let mostBoxes = 256

  static func fields(in bytes: TagBytes) throws(TagBytes.Missing) -> TagFields {
    var fields = TagFields()
    guard let list = try list(in: bytes) else { return fields }
    let isOptional = list.isOptional
    var place = list.box.body
    for _ in 0..<mostBoxes where !fields.isComplete {
      guard let item = try box(in: bytes, at: place, to: list.box.end, isOptional: isOptional)
      else { break }
      if let name = name(of: item.type) {
        fields.add(try text(of: item, bytes, isOptional: isOptional), as: name)
      }
      place = item.end
    }
    return fields
  }

  /// The item `covr` has the pictures, the front cover first. Nothing says which is which.
  static func picture(in bytes: TagBytes) throws(TagBytes.Missing) -> [UInt8]? {
    guard let list = try list(in: bytes) else { return nil }
    let isOptional = list.isOptional
    guard let covers = try child("covr", of: list.box, bytes, isOptional: isOptional) else {
      return nil
    }
    // Behind the kind of the content and a language.
    let headLength: Int64 = 8
    var place = covers.body
    for _ in 0..<mostBoxes {
      guard let item = try box(in: bytes, at: place, to: covers.end, isOptional: isOptional) else {
        break
      }
      place = item.end
      let size = item.end - item.body - headLength
      let decisive = Int64(PictureFormat.decisive)
      guard item.type.isText("data"), size > 0, size <= Int64(EmbeddedPicture.limit),
        let beginning = try bytes.bytes(
          Int(min(size, decisive)), at: item.body + headLength, isOptional: isOptional),
        PictureFormat(beginning: beginning) != nil
      else { continue }
      return try bytes.bytes(Int(size), at: item.body + headLength, isOptional: isOptional)
        .map(Array.init)
    }
    return nil
  }

  /// The list of items, and whether it is worth reading only if that costs no request.
  private struct List {
    var box: Box
    var isOptional: Bool
  }

  /// Returns nil if there is none.
  private static func list(in bytes: TagBytes) throws(TagBytes.Missing) -> List? {
    var isBehindMedia = false
    var place: Int64 = 0
    for _ in 0..<mostBoxes {
      guard
        let box = try box(in: bytes, at: place, to: bytes.length ?? .max, isOptional: isBehindMedia)
      else { break }
      if box.type.isText("moov") {
        return try list(of: box, bytes, isOptional: isBehindMedia)
          .map { List(box: $0, isOptional: isBehindMedia) }
      }
      if box.type.isText("mdat") { isBehindMedia = true }
      place = box.end
    }
    return nil
  }

  private static func box(
    in bytes: TagBytes, at place: Int64, to end: Int64, isOptional: Bool
  ) throws(TagBytes.Missing) -> Box? {
    guard let behind = place.plus(8), behind <= end,
      let head = try bytes.bytes(8, at: place, isOptional: isOptional)
    else { return nil }
    let type = head.suffix(4)
    switch head.prefix(4).bigEndian {
    // The box reaches to the end.
    case 0: return Box(type: type, body: behind, end: end)
    case 1:
      guard let digits = try bytes.bytes(8, at: behind, isOptional: isOptional),
        let size = Int64(exactly: digits.bigEndian), size >= 16, let next = place.plus(size),
        next <= end
      else { return nil }
      return Box(type: type, body: place + 16, end: next)
    case let size:
      // Not beyond what contains it: a length may lie.
      guard size >= 8, let next = place.plus(Int64(size)), next <= end else { return nil }
      return Box(type: type, body: behind, end: next)
    }
  }

  private static func child(
    _ name: StaticString, of parent: Box, from start: Int64? = nil, _ bytes: TagBytes,
    isOptional: Bool
  ) throws(TagBytes.Missing) -> Box? {
    var place = start ?? parent.body
    for _ in 0..<mostBoxes {
      guard let box = try box(in: bytes, at: place, to: parent.end, isOptional: isOptional) else {
        return nil
      }
      if box.type.isText(name) { return box }
      place = box.end
    }
    return nil
  }

  private static func list(
    of movie: Box, _ bytes: TagBytes, isOptional: Bool
  ) throws(TagBytes.Missing) -> Box? {
    let user = try child("udta", of: movie, bytes, isOptional: isOptional)
    guard let meta = try child("meta", of: user ?? movie, bytes, isOptional: isOptional),
      let start = try bytes.bytes(8, at: meta.body, isOptional: isOptional)
    else { return nil }
    // In QuickTime files, the box has no version.
    let boxes = start.suffix(4).isText("hdlr") ? meta.body : meta.body + 4
    return try child("ilst", of: meta, from: boxes, bytes, isOptional: isOptional)
  }

  private static func name(of type: ArraySlice<UInt8>) -> TagFields.Name? {
    if type.isText("aART") { return .albumArtist }
    // "©" in Mac OS Roman.
    guard type.first == 0xA9 else { return nil }
    let rest = type.dropFirst()
    return rest.isText("nam")
      ? .title : rest.isText("ART") ? .artist : rest.isText("alb") ? .album : nil
  }

  private static func text(
    of item: Box, _ bytes: TagBytes, isOptional: Bool
  ) throws(TagBytes.Missing) -> String? {
    guard let data = try child("data", of: item, bytes, isOptional: isOptional),
      data.end - data.body > 8,
      let content = try bytes.bytes(
        Int(min(data.end - data.body, Int64(TagText.limit))), at: data.body, isOptional: isOptional)
    else { return nil }
    let text = content.dropFirst(8)
    switch content.prefix(4).bigEndian {
    case 1: return TagText.decoded(text, .utf8)
    case 2: return TagText.decoded(text, .utf16BigEndian)
    default: return nil
    }
  }
}
