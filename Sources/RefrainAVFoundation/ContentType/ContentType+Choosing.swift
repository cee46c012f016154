// SPDX-License-Identifier: MIT
#if canImport(UniformTypeIdentifiers)
  import UniformTypeIdentifiers
#endif

extension ContentType {
  /// Returns the type to report to AVFoundation, which throws for a type outside of
  /// `AVAssetResourceLoadingContentInformationRequest.allowedContentTypes`, if there are any; nil
  /// if none of them fits the resource.
  ///
  /// The type itself; otherwise an allowed one of the same format, because the same code reads it;
  /// otherwise an allowed one that the type conforms to, the nearest first.
  static func choose(_ type: String, from allowed: [String]?) -> String? {
    guard let allowed, !allowed.contains(type) else { return type }
    let above = supertypes(of: type)
    let format = sameFormat.first { $0.contains(type) } ?? []
    let candidates =
      above.filter(format.contains) + format.filter { supertypes(of: $0).contains(type) } + format
      + above
    return candidates.first { $0 != type && allowed.contains($0) }
  }

  static func isSameFormat(_ a: String, _ b: String) -> Bool {
    sameFormat.contains { $0.contains(a) && $0.contains(b) }
  }

  /// Returns all types that a type conforms to, the nearest first.
  static func supertypes(of type: String) -> [String] {
    var found: [String] = []
    var level = parents(of: type)
    while !level.isEmpty {
      let new = level.filter { !found.contains($0) }
      found += new
      level = new.flatMap(parents)
    }
    return found
  }

  private static func parents(of type: String) -> [String] {
    if let known = conformance[type] { return known }
    #if canImport(UniformTypeIdentifiers)
      // Sorted, because the order of a set is random.
      return UTType(type)?.supertypes.map(\.identifier).sorted() ?? []
    #else
      return []
    #endif
  }

  /// The types that name the same file format, in the order of preference.
  ///
  /// ISO/IEC 14496-14 (MP4), 3GPP TS 26.244 and 3GPP2 C.S0050 (3GP) are profiles of ISO/IEC
  /// 14496-12, which was made from the QuickTime file format.
  private static let sameFormat: [[String]] = [
    [
      UTI.m4a, UTI.mpeg4Audio, UTI.mpeg4, UTI.m4v, UTI.quickTime, UTI.mobile3GPP,
      UTI.mobile3GPP2, UTI.ringtone, UTI.quickTimeAudio, UTI.protectedM4A, UTI.protectedM4B,
      UTI.protectedM4V,
    ],
    // AIFF-C's decoders read AIFF.
    [UTI.aiff, UTI.aifc],
    // RFC 3003 has one type for both layers.
    [UTI.mp3, UTI.mp2],
    [UTI.transportStream, UTI.avchd],
    // WebM is a profile of Matroska.
    [UTI.webm, UTI.matroska],
    [UTI.ogg, UTI.ogv],
  ]

  /// The direct supertypes, from Apple's "System-Declared Uniform Type Identifiers" ("Conforms
  /// to"); evident ones for types that are not listed there.
  private static let conformance: [String: [String]] = {
    var table: [String: [String]] = [
      UTI.mpeg4: ["public.movie"], UTI.m4v: [UTI.mpeg4], UTI.protectedM4V: [UTI.m4v],
      UTI.mpeg4Audio: ["public.audio"], UTI.m4a: [UTI.mpeg4Audio],
      UTI.ringtone: [UTI.mpeg4Audio], UTI.protectedM4B: [UTI.protectedM4A],
      UTI.aiff: [UTI.aifc],
      UTI.m3uPlaylist: ["public.plain-text", "public.playlist"],
      "public.plain-text": ["public.text"], "public.text": ["public.data", "public.content"],
      "public.playlist": [], "public.movie": ["public.audiovisual-content"],
      "public.audio": ["public.audiovisual-content"],
      "public.audiovisual-content": ["public.data", "public.content"],
      "public.data": ["public.item"], "public.content": [], "public.item": [],
    ]
    for type in [
      UTI.mp3, UTI.mp2, UTI.aac, UTI.ac3, UTI.eac3, UTI.amr, UTI.protectedM4A,
      UTI.quickTimeAudio, UTI.wav, UTI.aifc, UTI.caf, UTI.au, UTI.flac, UTI.ogg,
    ] { table[type] = ["public.audio"] }
    for type in [
      UTI.quickTime, UTI.mobile3GPP, UTI.mobile3GPP2, UTI.mpeg, UTI.transportStream, UTI.avchd,
      UTI.ogv, UTI.webm, UTI.matroska, UTI.avi,
    ] { table[type] = ["public.movie"] }
    return table
  }()
}
