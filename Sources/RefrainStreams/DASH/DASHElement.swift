// SPDX-License-Identifier: MIT

/// The elements of an MPD (ISO/IEC 23009-1 §5.3, §5.8), by local name, that name its resources or
/// describe its segments and tracks.
enum DASHElement: String, Sendable {
  case mpd = "MPD"
  case location = "Location"
  case patchLocation = "PatchLocation"
  case initializationSet = "InitializationSet"
  case period = "Period"
  case adaptationSet = "AdaptationSet"
  case emptyAdaptationSet = "EmptyAdaptationSet"
  case representation = "Representation"
  case baseURL = "BaseURL"
  case role = "Role"
  case label = "Label"
  case component = "ContentComponent"
  case essentialProperty = "EssentialProperty"
  case supplementalProperty = "SupplementalProperty"
  case channels = "AudioChannelConfiguration"
  case segmentBase = "SegmentBase"
  case segmentList = "SegmentList"
  case segmentTemplate = "SegmentTemplate"
  case segmentTimeline = "SegmentTimeline"
  case run = "S"
  case pattern = "Pattern"
  case segmentURL = "SegmentURL"
  case initialization = "Initialization"
  case segmentIndex = "RepresentationIndex"
  case bitstreamSwitching = "BitstreamSwitching"
  case contentProtection = "ContentProtection"
  case event = "Event"
  case other = ""

  /// - Parameter parent: the name of an element means something only in its place: a BaseURL within
  ///   an unknown element is another vocabulary's.
  init(_ name: ArraySlice<UInt8>, in parent: DASHElement) {
    let element = Self(named: name)
    self = element.belongs(in: parent) ? element : .other
  }

  /// Creates the root of a document.
  ///
  /// A document may also be a part of an MPD that is elsewhere (§5.5): each of its roots replaces an
  /// element with an `xlink:href`.
  init(root name: ArraySlice<UInt8>) {
    let roots: [DASHElement] = [
      .mpd, .period, .adaptationSet, .emptyAdaptationSet, .segmentList, .initializationSet,
    ]
    let element = Self(named: name)
    self = roots.contains(element) ? element : .other
  }

  private init(named name: ArraySlice<UInt8>) {
    // No name is longer.
    let local = Self.localName(name).prefix(32)
    self = DASHElement(rawValue: String(decoding: local, as: UTF8.self)) ?? .other
  }

  /// Returns the name without the prefix of its namespace.
  private static func localName(_ name: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let colon = name.firstIndex(of: UInt8(ascii: ":")) else { return name }
    return name[(colon + 1)...]
  }

  private func belongs(in parent: DASHElement) -> Bool {
    switch self {
    case .mpd, .other: false
    case .period, .location, .patchLocation, .initializationSet: parent == .mpd
    case .adaptationSet, .emptyAdaptationSet: parent == .period
    case .representation: parent == .adaptationSet || parent == .emptyAdaptationSet
    case .baseURL: parent.hasBase
    case .role, .label, .component: parent == .adaptationSet
    case .essentialProperty, .supplementalProperty, .channels:
      parent == .adaptationSet || parent == .representation
    case .segmentBase, .segmentList, .segmentTemplate: parent.hasBase && parent != .mpd
    case .segmentTimeline, .initialization, .segmentIndex, .bitstreamSwitching:
      parent.describesSegments
    case .segmentURL: parent == .segmentList
    case .run, .pattern: parent == .segmentTimeline
    case .contentProtection, .event: true
    }
  }

  /// Whether BaseURLs within the element form a level of the chain of bases (§5.6.4).
  var hasBase: Bool {
    switch self {
    case .mpd, .period, .adaptationSet, .emptyAdaptationSet, .representation: true
    default: false
    }
  }

  /// Whether the element describes segments.
  var describesSegments: Bool {
    self == .segmentBase || self == .segmentList || self == .segmentTemplate
  }

  /// Whether the text of the element matters.
  var hasText: Bool { self == .baseURL || self == .location || self == .label }

  /// Whether the element's content belongs to others (a system of rights, an application), or is not
  /// for clients.
  var isForeign: Bool { self == .contentProtection || self == .event || self == .patchLocation }
}
