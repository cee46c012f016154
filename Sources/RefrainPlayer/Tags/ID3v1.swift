// SPDX-License-Identifier: MIT

/// ID3v1: the last 128 bytes of an MP3, which are read only where that costs no request.
enum ID3v1 {
  private static let length: Int64 = 128

  static func fields(in bytes: TagBytes) throws(TagBytes.Missing) -> TagFields {
    var fields = TagFields()
    guard let end = bytes.length, end >= length,
      let tag = try bytes.bytes(Int(length), at: end - length, isOptional: true).map(Array.init),
      tag.prefix(3).isText("TAG")
    else { return fields }
    fields.add(TagText.decoded(tag[3..<33]), as: .title)
    fields.add(TagText.decoded(tag[33..<63]), as: .artist)
    fields.add(TagText.decoded(tag[63..<93]), as: .album)
    return fields
  }
}
