// SPDX-License-Identifier: MIT
#if canImport(UniformTypeIdentifiers)
  import UniformTypeIdentifiers
#endif

extension ContentType {
  /// Returns the type that an origin's MIME type and a URL's extension declare together; nil if
  /// neither declares one.
  ///
  /// The origin's MIME type takes precedence (RFC 9110 §8.3), except:
  /// - if it is missing, unknown, or one that servers send for files that they do not know. Only
  ///   the extension counts then.
  /// - if the extension names the same format more exactly: `video/mp4` is correct for `.m4a`, as a
  ///   container, but makes a player look for video.
  /// - if servers are known to send it wrongly for the extension (`mistakes`).
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

  /// Returns whether both are of one container format, and the extension is not less specific than
  /// the MIME type: `.mp4` does not state what is inside, `audio/mp4` does.
  private static func isMoreExact(_ byExtension: String, than byMIMEType: String) -> Bool {
    guard isSameFormat(byExtension, byMIMEType) else { return false }
    return !broadTypes.contains(byExtension) || byMIMEType == UTI.quickTime
  }

  /// The types whose extensions are used whatever the container holds.
  private static let broadTypes: Set<String> = [UTI.mpeg4, UTI.ogg, UTI.matroska]

  /// Returns `type/subtype` in lower case, without parameters. Not validated: a malformed one is in
  /// no table.
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
    /// Returns an audiovisual type. A dynamic type, which the system makes up for one that it does
    /// not know, conforms to nothing audiovisual.
    private static func audiovisual(_ type: UTType?) -> String? {
      type.flatMap { $0.conforms(to: .audiovisualContent) ? $0.identifier : nil }
    }
  #endif
}
