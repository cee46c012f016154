// SPDX-License-Identifier: MIT

/// Ogg (RFC 3533): the second packet of a stream of Vorbis, Opus (RFC 7845 §5.2), Speex or FLAC
/// (RFC 9639 §10.1) has the comments.
enum OggTags {
  private static let mostPages = 64
  /// The most bytes of the packet that are read. A picture is among the comments, usually behind
  /// the texts.
  private static let firstPart = 8 << 10
  private static let mostBytes = 64 << 10
  /// Enough for a picture in Base64 and the texts.
  private static let mostPictureBytes = 12 << 20
  private static let mostPicturePages = 1024

  static func fields(in bytes: TagBytes) throws(TagBytes.Missing) -> TagFields {
    var fields = TagFields()
    for limit in [firstPart, mostBytes] {
      guard let packet = try commentPacket(in: bytes, limit, pages: mostPages) else {
        return fields
      }
      fields = try read(packet)
      if fields.isComplete || packet.count < limit { return fields }
    }
    return fields
  }

  static func picture(in bytes: TagBytes) throws(TagBytes.Missing) -> [UInt8]? {
    guard
      let packet = try commentPacket(in: bytes, mostPictureBytes, pages: mostPicturePages)
    else { return nil }
    return try VorbisComments.picture(in: packet, from: start(ofCommentsIn: packet))
  }

  private static func read(_ packet: [UInt8]) throws(TagBytes.Missing) -> TagFields {
    let bytes = TagBytes(packet)
    return try VorbisComments.fields(
      in: bytes, from: start(ofCommentsIn: packet), to: Int64(packet.count))
  }

  private static func start(ofCommentsIn packet: [UInt8]) -> Int64 {
    switch packet {
    case _ where packet.prefix(8).isText("OpusTags"): 8
    case _ where packet.first == 3 && packet.dropFirst().prefix(6).isText("vorbis"): 7
    // The block of FLAC has its usual head; of Speex, the packet begins with the comments.
    case _ where packet.first.map { $0 & 0x7F } == 4 && packet.count > 8 && packet[7] == 0: 4
    default: 0
    }
  }

  private struct Page {
    var isFirst: Bool
    var serial: UInt64
    /// The sizes of its segments; a packet ends with one below 255.
    var segments: [UInt8]
    var body: Int64
    var end: Int64
  }

  /// §6.
  private static func page(
    in bytes: TagBytes, at place: Int64
  ) throws(TagBytes.Missing) -> Page? {
    guard let head = try bytes.bytes(27, at: place).map(Array.init), head.prefix(4).isText("OggS"),
      let segments = try bytes.bytes(Int(head[26]), at: place + 27).map(Array.init)
    else { return nil }
    let body = place + 27 + Int64(segments.count)
    let size = segments.reduce(0) { $0 + Int64($1) }
    return Page(
      isFirst: head[5] & 2 != 0, serial: head[14..<18].littleEndian, segments: segments, body: body,
      end: body + size)
  }

  /// Returns the beginning of the second packet of the first stream with sound.
  private static func commentPacket(
    in bytes: TagBytes, _ limit: Int, pages mostPages: Int
  ) throws(TagBytes.Missing) -> [UInt8]? {
    var packet: [UInt8] = []
    var serial: UInt64?
    // The first page of a stream contains its first packet alone.
    var place: Int64 = 0
    for _ in 0..<mostPages {
      guard let page = try page(in: bytes, at: place) else { break }
      place = page.end
      if page.isFirst {
        if serial == nil, let start = try bytes.bytes(upTo: 8, at: page.body), isSound(start) {
          serial = page.serial
        }
        continue
      }
      guard page.serial == serial else { continue }
      var wanted = 0
      var isOver = false
      for segment in page.segments where !isOver {
        wanted += Int(segment)
        isOver = segment < 255
      }
      wanted = min(wanted, limit - packet.count)
      guard let part = try bytes.bytes(upTo: wanted, at: page.body) else { break }
      packet += part
      if isOver || packet.count >= limit { break }
    }
    return packet.isEmpty ? nil : packet
  }

  private static func isSound(_ start: ArraySlice<UInt8>) -> Bool {
    start.isText("OpusHead") || start.isText("Speex   ")
      || start.dropFirst().prefix(6).isText("vorbis") && start.first == 1
      || start.dropFirst().prefix(4).isText("FLAC") && start.first == 0x7F
  }
}
