// SPDX-License-Identifier: MIT

/// The files of the page, which are embedded in the program.
enum PageFile: String, Sendable, CaseIterable {
  case document = "/"
  case style = "/page/page.css"
  case script = "/page/page.js"
  case icon = "/page/icon.svg"

  var bytes: [UInt8] {
    switch self {
    case .document: PackageResources.page_html
    case .style: PackageResources.page_css
    case .script: PackageResources.page_js
    case .icon: PackageResources.icon_svg
    }
  }

  var type: String {
    switch self {
    case .document: "text/html; charset=utf-8"
    case .style: "text/css; charset=utf-8"
    case .script: "text/javascript; charset=utf-8"
    case .icon: "image/svg+xml"
    }
  }
}
