// SPDX-License-Identifier: MIT

/// The files of the page: constants of the program, so that it needs no file beside it.
enum PageFile: String, Sendable, CaseIterable {
  case document = "/"
  case style = "/page/style.css"
  case icon = "/page/icon.svg"
  case main = "/page/main.js"
  case store = "/page/store.js"
  case list = "/page/list.js"
  case strip = "/page/strip.js"
  case detail = "/page/detail.js"
  case panels = "/page/panels.js"
  case player = "/page/player.js"
  case format = "/page/format.js"

  init?(path: String) { self.init(rawValue: path) }

  var text: String {
    switch self {
    case .document: Self.documentText
    case .style: Self.styleText
    case .icon: Self.iconText
    case .main: Self.mainText
    case .store: Self.storeText
    case .list: Self.listText
    case .strip: Self.stripText
    case .detail: Self.detailText
    case .panels: Self.panelsText
    case .player: Self.playerText
    case .format: Self.formatText
    }
  }

  var bytes: [UInt8] { Array(text.utf8) }

  var type: String {
    switch self {
    case .document: "text/html; charset=utf-8"
    case .style: "text/css; charset=utf-8"
    case .icon: "image/svg+xml"
    default: "text/javascript; charset=utf-8"
    }
  }
}
