// SPDX-License-Identifier: MIT

/// The chunks of RIFF/WAVE (with `LIST INFO`) and AIFF, which may also have a tag of ID3v2. Behind
/// the samples they are read only where that costs no request.
struct ChunkTags {
  /// AIFF is, RIFF is not.
  let isBigEndian: Bool

  private static let mostChunks = 256

  func fields(in bytes: TagBytes) throws(TagBytes.Missing) -> TagFields {
    var fields = TagFields()
    var isOptional = false
    var place: Int64 = 12
    for _ in 0..<Self.mostChunks where !fields.isComplete {
      guard let chunk = try chunk(in: bytes, at: place, isOptional: isOptional) else { break }
      switch chunk.id {
      case "LIST" where !isBigEndian:
        fields.add(try list(chunk, bytes, isOptional: isOptional))
      case "NAME" where isBigEndian:
        fields.add(try text(of: chunk, bytes, isOptional: isOptional), as: .title)
      case "AUTH" where isBigEndian:
        fields.add(try text(of: chunk, bytes, isOptional: isOptional), as: .artist)
      case "id3 ", "ID3 ":
        fields.add(try ID3v2.fields(in: bytes, at: chunk.body, isOptional: isOptional))
      case "data", "SSND": isOptional = true
      default: break
      }
      place = chunk.next
    }
    return fields
  }

  /// The picture is in the tag of ID3v2.
  func picture(in bytes: TagBytes) throws(TagBytes.Missing) -> [UInt8]? {
    var isOptional = false
    var place: Int64 = 12
    for _ in 0..<Self.mostChunks {
      guard let chunk = try chunk(in: bytes, at: place, isOptional: isOptional) else { break }
      switch chunk.id {
      case "id3 ", "ID3 ":
        return try ID3v2.picture(in: bytes, at: chunk.body, isOptional: isOptional)
      case "data", "SSND": isOptional = true
      default: break
      }
      place = chunk.next
    }
    return nil
  }

  private struct Chunk {
    var id: String
    var body: Int64
    var size: Int64
    /// Chunks begin at even offsets.
    var next: Int64 { body + size + size % 2 }
  }

  private func chunk(
    in bytes: TagBytes, at place: Int64, isOptional: Bool
  ) throws(TagBytes.Missing) -> Chunk? {
    guard let head = try bytes.bytes(8, at: place, isOptional: isOptional) else { return nil }
    let digits = head.suffix(4)
    return Chunk(
      id: String(decoding: head.prefix(4), as: UTF8.self), body: place + 8,
      size: Int64(isBigEndian ? digits.bigEndian : digits.littleEndian))
  }

  private func list(
    _ list: Chunk, _ bytes: TagBytes, isOptional: Bool
  ) throws(TagBytes.Missing) -> TagFields {
    var fields = TagFields()
    guard let kind = try bytes.bytes(4, at: list.body, isOptional: isOptional),
      kind.isText("INFO")
    else { return fields }
    var place = list.body + 4
    for _ in 0..<Self.mostChunks where place + 8 <= list.body + list.size {
      guard let chunk = try chunk(in: bytes, at: place, isOptional: isOptional) else { break }
      if let name = Self.names[chunk.id] {
        fields.add(try text(of: chunk, bytes, isOptional: isOptional), as: name)
      }
      place = chunk.next
    }
    return fields
  }

  private static let names: [String: TagFields.Name] = [
    "INAM": .title, "IART": .artist, "IPRD": .album,
  ]

  private func text(
    of chunk: Chunk, _ bytes: TagBytes, isOptional: Bool
  ) throws(TagBytes.Missing) -> String? {
    let count = Int(min(chunk.size, Int64(TagText.limit)))
    return try bytes.bytes(count, at: chunk.body, isOptional: isOptional).flatMap {
      TagText.decoded($0)
    }
  }
}
