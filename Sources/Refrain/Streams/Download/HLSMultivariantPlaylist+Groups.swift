// SPDX-License-Identifier: MIT

extension HLSMultivariantPlaylist {
  /// Returns the body without the attributes of variants that name a group without renditions: a
  /// player could not play such a variant. All other lines stay as they are.
  ///
  /// - Parameter body: the body that this playlist was created from.
  package func removingEmptyGroups(_ body: [UInt8]) -> [UInt8] {
    var groups: [Rendition.MediaType: Set<String>] = [:]
    for rendition in renditions { groups[rendition.type, default: []].insert(rendition.groupID) }
    var edits = ByteEdits()
    for variant in variants + iFrameVariants {
      let names = variant.groupAttributes.filter { attribute in
        attribute.group.map { groups[attribute.type]?.contains($0) != true } ?? false
      }.map(\.name)
      guard !names.isEmpty else { continue }
      for line in HLSLines(body, in: variant.lines) {
        switch line.content {
        case .tag(.variant, let value), .tag(.iFrameVariant, let value):
          edits.replace(value, with: Self.attributes(body, in: value, without: names))
        default: break
        }
      }
    }
    return edits.applied(to: body)
  }

  private static func attributes(
    _ body: [UInt8], in value: Range<Int>, without names: [String]
  ) -> [UInt8] {
    let attributes = HLSAttributes(body, in: value)
    let kept = attributes.filter { attribute in
      !names.contains { attributes.name(of: attribute, is: $0) }
    }
    return Array(
      kept.map { attribute in
        let end = attribute.value.upperBound + (attribute.isQuoted ? 1 : 0)
        return body[attribute.name.lowerBound..<end]
      }.joined(separator: [UInt8(ascii: ",")]))
  }
}

extension HLSMultivariantPlaylist.Variant {
  fileprivate var groupAttributes:
    [(name: String, type: HLSMultivariantPlaylist.Rendition.MediaType, group: String?)]
  {
    [
      ("AUDIO", .audio, audioGroup), ("VIDEO", .video, videoGroup),
      ("SUBTITLES", .subtitles, subtitlesGroup),
    ]
  }
}
