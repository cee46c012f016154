// SPDX-License-Identifier: MIT

/// The elements of an MPD on the way to its references (ISO/IEC 23009-1 §5.3), by local name.
enum DASHElement: String {
  case mpd = "MPD"
  case period = "Period"
  case adaptationSet = "AdaptationSet"
  case emptyAdaptationSet = "EmptyAdaptationSet"
  case representation = "Representation"
  case baseURL = "BaseURL"
  case location = "Location"
  case patchLocation = "PatchLocation"
  case segmentBase = "SegmentBase"
  case segmentList = "SegmentList"
  case segmentTemplate = "SegmentTemplate"
  case segmentTimeline = "SegmentTimeline"
  case run = "S"
  case segmentURL = "SegmentURL"
  case initialization = "Initialization"
  case representationIndex = "RepresentationIndex"
  case bitstreamSwitching = "BitstreamSwitching"
  case initializationSet = "InitializationSet"
  /// An element whose content belongs to others: a system of rights, an application.
  case contentProtection = "ContentProtection"
  case event = "Event"
  case other = ""

  private static let longestName = 24

  /// - Parameter parent: nil for the root. The name of an element means something only in its
  ///   place: a BaseURL within an unknown element is another vocabulary's.
  init(_ name: ArraySlice<UInt8>, in parent: DASHElement?) {
    if let parent, parent.isForeign {
      self = parent
      return
    }
    let local = Self.localName(name)
    guard local.count <= Self.longestName,
      let element = DASHElement(rawValue: String(decoding: local, as: UTF8.self)),
      element.belongs(in: parent)
    else {
      self = .other
      return
    }
    self = element
  }

  /// Creates the root of a document.
  ///
  /// A document may also be a part of an MPD that is elsewhere (§5.5): each of its roots replaces an
  /// element with an `xlink:href`.
  init(root name: ArraySlice<UInt8>) {
    let parents: [DASHElement?] = [nil, .mpd, .period, .representation]
    self = parents.lazy.map { DASHElement(name, in: $0) }.first(where: \.mayBeRoot) ?? .other
  }

  private var mayBeRoot: Bool { self == .mpd || isRemote }

  /// Whether the element may be a document of its own.
  var isRemote: Bool {
    switch self {
    case .period, .adaptationSet, .emptyAdaptationSet, .segmentList, .initializationSet: true
    default: false
    }
  }

  /// Whether BaseURL elements within this one form a level of the chain of bases (§5.6.4).
  var hasBase: Bool {
    switch self {
    case .mpd, .period, .adaptationSet, .emptyAdaptationSet, .representation: true
    default: false
    }
  }

  /// Whether the text of the element is a reference.
  var kindOfText: ManifestReference.Kind? {
    switch self {
    case .baseURL: .base
    case .location: .location
    default: nil
    }
  }

  /// Returns the kind of the reference in an attribute; nil if the attribute has none.
  func kind(ofAttribute name: ArraySlice<UInt8>) -> ManifestReference.Kind? {
    let (names, kind): ([String], ManifestReference.Kind) =
      switch self {
      case .segmentTemplate:
        (["media", "index", "initialization", "bitstreamSwitching"], .template)
      case .segmentURL: (["media", "index"], .segment)
      case .initialization, .representationIndex, .bitstreamSwitching:
        (["sourceURL"], .initialization)
      case .initializationSet: (["initialization"], .initialization)
      default: ([], .initialization)
      }
    return names.contains { name.elementsEqual($0.utf8) } ? kind : nil
  }

  /// Whether clients put the value of an attribute in place of an identifier in templates, or
  /// compute such values with it.
  func isTemplateValue(_ name: ArraySlice<UInt8>) -> Bool {
    func isNamed(_ text: StaticString) -> Bool { text.withUTF8Buffer { name.elementsEqual($0) } }
    return switch self {
    case .representation: isNamed("id") || isNamed("bandwidth")
    case .segmentTemplate, .segmentList: isNamed("startNumber") || isNamed("endNumber")
    case .run: isNamed("t") || isNamed("n") || isNamed("d")
    default: false
    }
  }

  /// Whether this element's content belongs to others, or is not for clients.
  var isForeign: Bool { self == .contentProtection || self == .event || self == .patchLocation }

  /// Returns the name without the prefix of its namespace.
  static func localName(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let colon = name.firstIndex(of: UInt8(ascii: ":")) else { return name }
    return name[(colon + 1)...]
  }

  private func belongs(in parent: DASHElement?) -> Bool {
    switch self {
    case .mpd: parent == nil
    case .period, .location, .patchLocation, .initializationSet: parent == .mpd
    case .adaptationSet, .emptyAdaptationSet: parent == .period
    case .representation: parent == .adaptationSet || parent == .emptyAdaptationSet
    case .baseURL: parent?.hasBase == true
    case .segmentBase, .segmentList, .segmentTemplate:
      parent?.hasBase == true && parent != .mpd
    case .segmentTimeline:
      parent == .segmentBase || parent == .segmentList || parent == .segmentTemplate
    case .run: parent == .segmentTimeline
    case .segmentURL: parent == .segmentList
    case .initialization, .representationIndex, .bitstreamSwitching:
      parent == .segmentBase || parent == .segmentList || parent == .segmentTemplate
    case .contentProtection, .event: parent != nil
    case .other: false
    }
  }
}
