// SPDX-License-Identifier: MIT
#if canImport(UniformTypeIdentifiers)
  import UniformTypeIdentifiers
#endif

extension ContentType {
  /// The type that an origin's MIME type and a URL's extension declare together; nil where neither
  /// says anything.
  ///
  /// The MIME type is the origin's word and stands (RFC 9110 §8.3), except:
  /// - where it is missing, unheard of, or one that servers give to whatever they do not know. The
  ///   extension is all that is said then.
  /// - where the extension names the same format more exactly: `video/mp4` is right for `.m4a`, as a
  ///   container, but a player that is told of a movie looks for pictures.
  /// - where servers are known to give it to the extension wrongly (`mistakes`).
  static func declared(mimeType: String?, pathExtension: String) -> String? {
    let essence = essence(mimeType)
    let byExtension = extensions[pathExtension.lowercased()] ?? systemType(pathExtension)
    guard let essence, !genericTypes.contains(essence),
      let byMIMEType = mimeTypes[essence] ?? systemType(mimeType: essence)
    else { return byExtension }
    guard let byExtension, byExtension != byMIMEType else { return byMIMEType }
    if isMoreExact(byExtension, than: byMIMEType) { return byExtension }
    if mistakes[essence]?.contains(byExtension) == true { return byExtension }
    return byMIMEType
  }

  /// Both are of one container format, and the extension does not say less than the MIME type does:
  /// `.mp4` says nothing of what is inside, `audio/mp4` does.
  private static func isMoreExact(_ byExtension: String, than byMIMEType: String) -> Bool {
    guard isSameFormat(byExtension, byMIMEType) else { return false }
    return !broadTypes.contains(byExtension) || byMIMEType == UTI.quickTime
  }

  /// Whose extensions are used whatever the container holds.
  private static let broadTypes: Set<String> = [UTI.mpeg4, UTI.ogg, UTI.matroska]

  /// `type/subtype`, lower case, without parameters. Nothing else is asked of it: one that is
  /// malformed is in no table.
  private static func essence(_ mimeType: String?) -> String? {
    guard let part = mimeType?.split(separator: ";", omittingEmptySubsequences: false).first else {
      return nil
    }
    let trimmed = part.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace)
    return String(trimmed.reversed()).lowercased()
  }

  // MARK: What the system knows besides

  private static func systemType(_ pathExtension: String) -> String? {
    #if canImport(UniformTypeIdentifiers)
      guard !pathExtension.isEmpty else { return nil }
      return audiovisual(UTType(filenameExtension: pathExtension))
    #else
      return nil
    #endif
  }

  private static func systemType(mimeType: String) -> String? {
    #if canImport(UniformTypeIdentifiers)
      return audiovisual(UTType(mimeType: mimeType))
    #else
      return nil
    #endif
  }

  #if canImport(UniformTypeIdentifiers)
    /// A dynamic type, which is made up for what the system does not know either, conforms to
    /// nothing audiovisual.
    private static func audiovisual(_ type: UTType?) -> String? {
      type.flatMap { $0.conforms(to: .audiovisualContent) ? $0.identifier : nil }
    }
  #endif
}
